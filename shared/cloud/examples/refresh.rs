//! Writes a catalogue with illustrative Spot prices, as the embedded one has:
//! `refresh ENDPOINT_URL PUBLISHED_JSON AS_OF OUTPUT`.

use std::error::Error;

use cloud::Published;
use cloud::types::{RefreshOptions, Spot, refresh_blocking};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, published, as_of, output] = arguments.as_slice() else {
        return Err("usage: refresh ENDPOINT_URL PUBLISHED_JSON AS_OF OUTPUT".into());
    };
    let published = Published::read(&std::fs::read_to_string(published)?)?;
    let options = RefreshOptions {
        region: published.region.clone(),
        endpoint_url: Some(endpoint.clone()),
        published,
        as_of: as_of.parse()?,
        spot: Spot::Illustrative,
    };
    let catalogue = refresh_blocking(options)?;
    Ok(std::fs::write(output, catalog::encode(&catalogue)?)?)
}
