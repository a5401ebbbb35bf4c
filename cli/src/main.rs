//! The `journeyman` command.

fn main() {}
