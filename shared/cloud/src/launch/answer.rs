//! What EC2's errors mean for a launch.

use model::{LaunchFailure, LaunchFailureKind, Offer};

use LaunchFailureKind::{Capacity, CapacityType, OtherLaunch, Rejected, Subnet, Throttled, Unknown};

/// Texts, what they mean, and the reason that conditions and metrics give. The first that is found in code or message
/// counts. An empty reason stands for EC2's own code.
const MEANINGS: [(&str, LaunchFailureKind, &str); 28] = [
    ("IdempotentParameterMismatch", OtherLaunch, ""),
    ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", CapacityType, "SpotSLRCreationFailed"),
    ("Not authorized for images", Rejected, "AMIAuthorizationFailure"),
    ("UnauthorizedOperation", Rejected, "Unauthorized"),
    ("AccessDenied", Rejected, "Unauthorized"),
    ("AuthFailure", Rejected, "Unauthorized"),
    ("belong to different networks", Rejected, "SecurityGroupSubnetVPCMismatch"),
    ("iamInstanceProfile.name is invalid", Rejected, "InstanceProfileNameInvalid"),
    ("InvalidLaunchTemplateId.NotFound", Rejected, "LaunchTemplateNotFound"),
    ("InvalidLaunchTemplateName.NotFoundException", Rejected, "LaunchTemplateNotFound"),
    ("User data is limited to", Rejected, "UserDataSizeLimitExceeded"),
    ("InvalidAMIID.Malformed", Rejected, "InvalidAMIID"),
    ("InvalidAMIID.NotFound", Rejected, "AMINotFound"),
    ("RequestLimitExceeded", Throttled, "RequestLimitExceeded"),
    ("Throttling", Throttled, "RequestLimitExceeded"),
    ("InternalError", Unknown, "InternalError"),
    ("not eligible for Free Tier", Rejected, "FreeTierIneligible"),
    ("MaxFleetCountExceeded", Capacity, "FleetQuotaExceeded"),
    ("PendingVerification", Rejected, "AccountPendingVerification"),
    ("MaxSpotInstanceCountExceeded", Capacity, "SpotQuotaExceeded"),
    ("VcpuLimitExceeded", Capacity, "VCPULimitExceeded"),
    ("InsufficientFreeAddressesInSubnet", Subnet, "InsufficientFreeAddressesInSubnet"),
    ("InsufficientInstanceCapacity", Capacity, ""),
    ("ReservationCapacityExceeded", Capacity, ""),
    ("UnfulfillableCapacity", Capacity, ""),
    ("Unsupported", Capacity, ""),
    ("InternalFailure", Unknown, "InternalError"),
    ("Unavailable", Unknown, "InternalError"),
];

/// What EC2 says of a spread placement group that has as many machines in a zone as it may have.
const FULL_GROUP: &str = "limit of instances in this spread placement group";

/// What an error means, and the reason to give for it. Capacity is judged by the code alone: the message of another
/// error may name it.
pub fn classify(code: &str, message: &str) -> (LaunchFailureKind, String) {
    // The one that only its message tells.
    if message.contains(FULL_GROUP) {
        return (Capacity, "PlacementGroupFull".to_owned());
    }
    let found = MEANINGS.into_iter().find(|(text, kind, _)| match kind {
        Capacity | Subnet => code == *text,
        Rejected => code.contains(text) || message.contains(text),
        _ => code.contains(text),
    });
    match found {
        Some((_, kind, "")) => (kind, code.to_owned()),
        Some((_, kind, reason)) => (kind, reason.to_owned()),
        None => (Rejected, "LaunchFailed".to_owned()),
    }
}

/// One thing that went wrong, with the way to buy and the subnet that it concerns.
pub fn failure(code: &str, message: &str, offer: Option<Offer>, subnet: Option<String>) -> LaunchFailure {
    let (kind, reason) = classify(code, message);
    let told = match (code, message) {
        ("", message) => message.to_owned(),
        (code, "") => code.to_owned(),
        (code, message) => format!("{code}: {message}"),
    };
    let about = |kinds: &[LaunchFailureKind]| kinds.contains(&kind);
    LaunchFailure {
        kind,
        offer: offer.filter(|_| !about(&[CapacityType, Throttled, OtherLaunch])),
        subnet: subnet.filter(|_| about(&[Subnet, Capacity, Rejected])),
        reason,
        message: told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 191: a reason for each kind of error; 189: what is capacity and what is not.
    #[test]
    fn each_error_has_a_kind_and_a_reason() {
        #[rustfmt::skip]
        let table = [
            ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", "", CapacityType, "SpotSLRCreationFailed"),
            ("UnauthorizedOperation", "You are not authorized to perform this operation.", Rejected, "Unauthorized"),
            ("AccessDenied", "with an explicit deny in a service control policy", Rejected, "Unauthorized"),
            ("AuthFailure", "Not authorized for images: [ami-1]", Rejected, "AMIAuthorizationFailure"),
            ("InvalidParameter", "Security group sg-1 and subnet subnet-1 belong to different networks.", Rejected, "SecurityGroupSubnetVPCMismatch"),
            ("InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid.", Rejected, "InstanceProfileNameInvalid"),
            ("InvalidLaunchTemplateId.NotFound", "", Rejected, "LaunchTemplateNotFound"),
            ("InvalidLaunchTemplateName.NotFoundException", "", Rejected, "LaunchTemplateNotFound"),
            ("InvalidUserData.Malformed", "User data is limited to 16384 bytes", Rejected, "UserDataSizeLimitExceeded"),
            ("InvalidAMIID.Malformed", "", Rejected, "InvalidAMIID"),
            ("InvalidAMIID.NotFound", "", Rejected, "AMINotFound"),
            ("RequestLimitExceeded", "Request limit exceeded.", Throttled, "RequestLimitExceeded"),
            ("ThrottlingException", "", Throttled, "RequestLimitExceeded"),
            ("InternalError", "An internal error has occurred", Unknown, "InternalError"),
            ("ServiceUnavailable", "", Unknown, "InternalError"),
            ("InvalidParameterCombination", "The instance type is not eligible for Free Tier.", Rejected, "FreeTierIneligible"),
            ("MaxFleetCountExceeded", "", Capacity, "FleetQuotaExceeded"),
            ("PendingVerification", "", Rejected, "AccountPendingVerification"),
            ("MaxSpotInstanceCountExceeded", "", Capacity, "SpotQuotaExceeded"),
            ("VcpuLimitExceeded", "", Capacity, "VCPULimitExceeded"),
            ("InsufficientFreeAddressesInSubnet", "", Subnet, "InsufficientFreeAddressesInSubnet"),
            ("InsufficientInstanceCapacity", "There is no Spot capacity available", Capacity, "InsufficientInstanceCapacity"),
            ("ReservationCapacityExceeded", "", Capacity, "ReservationCapacityExceeded"),
            ("UnfulfillableCapacity", "", Capacity, "UnfulfillableCapacity"),
            ("Unsupported", "", Capacity, "Unsupported"),
            ("IdempotentParameterMismatch", "", OtherLaunch, "IdempotentParameterMismatch"),
            ("InvalidParameterValue", "after InsufficientInstanceCapacity something else", Rejected, "LaunchFailed"),
            ("InvalidParameterValue", "You have reached the limit of instances in this spread placement group", Capacity, "PlacementGroupFull"),
            ("UnsupportedOperation", "", Rejected, "LaunchFailed"),
            ("", "", Rejected, "LaunchFailed"),
        ];
        for (code, message, kind, reason) in table {
            assert_eq!(classify(code, message), (kind, reason.to_owned()), "{code}: {message}");
        }
    }
}
