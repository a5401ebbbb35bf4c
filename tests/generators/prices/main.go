// Prints what is public about EC2 instance types but not in EC2's own answers, as one JSON object: on-demand
// prices in us-east-1, network bandwidth, and the limits of the VPC. All three are tables that Karpenter's AWS
// provider exports, at the version go.mod pins.
//
//	go run . > facts.json
//
// The tables are read from the module's source: importing its packages would bring in all of Karpenter for three
// literals.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const (
	module = "github.com/aws/karpenter-provider-aws"
	region = "us-east-1"
)

type vpc struct {
	IPv4PerInterface int64 `json:"ipv4PerInterface"`
	BranchInterfaces int64 `json:"branchInterfaces"`
	Trunking         bool  `json:"trunking"`
}

type facts struct {
	Source      string                     `json:"source"`
	Region      string                     `json:"region"`
	OnDemand    map[string]json.RawMessage `json:"onDemandUsdPerHour"`
	NetworkMbps map[string]int64           `json:"networkMbps"`
	VPC         map[string]vpc             `json:"vpc"`
}

func main() {
	out, err := read()
	if err == nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", " ")
		err = encoder.Encode(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read() (*facts, error) {
	dir, version, err := download()
	if err != nil {
		return nil, err
	}
	out := &facts{
		Source: module + "@" + version, Region: region,
		OnDemand: map[string]json.RawMessage{}, NetworkMbps: map[string]int64{}, VPC: map[string]vpc{},
	}
	regions, err := table(dir, "pricing/zz_generated.pricing_aws.go", "InitialOnDemandPricesAWS")
	if err != nil {
		return nil, err
	}
	prices, ok := regions[region].(*ast.CompositeLit)
	if !ok {
		return nil, fmt.Errorf("no prices for %s", region)
	}
	for name, price := range entries(prices) {
		out.OnDemand[name] = json.RawMessage(price.(*ast.BasicLit).Value)
	}
	bandwidth, err := table(dir, "instancetype/zz_generated.bandwidth.go", "InstanceTypeBandwidthMegabits")
	if err != nil {
		return nil, err
	}
	for name, mbps := range bandwidth {
		out.NetworkMbps[name] = number(mbps)
	}
	limits, err := table(dir, "instancetype/zz_generated.vpclimits.go", "Limits")
	if err != nil {
		return nil, err
	}
	for name, literal := range limits {
		fields := entries(literal.(*ast.CompositeLit))
		trunking, _ := fields["IsTrunkingCompatible"].(*ast.Ident)
		out.VPC[name] = vpc{
			IPv4PerInterface: number(fields["IPv4PerInterface"]),
			BranchInterfaces: number(fields["BranchInterface"]),
			Trunking:         trunking != nil && trunking.Name == "true",
		}
	}
	return out, nil
}

// Where the pinned version of the module lies on this machine, fetched if need be.
func download() (dir, version string, err error) {
	text, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", "", fmt.Errorf("go mod download %s: %w: %s", module, err, text)
	}
	var found struct{ Dir, Version string }
	if err := json.Unmarshal(text, &found); err != nil {
		return "", "", err
	}
	return found.Dir, found.Version, nil
}

// The entries of the map literal that a package-level variable is initialised with.
func table(dir, file, variable string) (map[string]ast.Expr, error) {
	path := filepath.Join(dir, "pkg", "providers", filepath.FromSlash(file))
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found *ast.CompositeLit
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if ok && len(spec.Names) == 1 && spec.Names[0].Name == variable && len(spec.Values) == 1 {
			found, _ = spec.Values[0].(*ast.CompositeLit)
		}
		return found == nil
	})
	if found == nil {
		return nil, fmt.Errorf("%s: no table %s", file, variable)
	}
	return entries(found), nil
}

func entries(literal *ast.CompositeLit) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key := pair.Key.(type) {
		case *ast.BasicLit:
			if name, err := strconv.Unquote(key.Value); err == nil {
				out[name] = pair.Value
			}
		case *ast.Ident:
			out[key.Name] = pair.Value
		}
	}
	return out
}

func number(expression ast.Expr) int64 {
	literal, ok := expression.(*ast.BasicLit)
	if !ok {
		return 0
	}
	value, _ := strconv.ParseInt(literal.Value, 10, 64)
	return value
}
