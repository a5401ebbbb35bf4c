//! User data of every family against files, and against whatever users may write.

mod golden;

use catalog::class::AmiFamily;
use cloud::user_data::{Bootstrap, MAX_BYTES, UserDataError};
use miette::Diagnostic;

#[test]
fn user_data_is_what_the_files_say() {
    golden::check("user_data", "yaml", |input| {
        let bootstrap: Bootstrap = serde_saphyr::from_str(input).unwrap();
        match bootstrap.user_data() {
            Ok(data) => {
                let notes = data.notes.iter().map(|note| format!("note: {}: {}\n", note.place, note.message));
                let notes: String = notes.collect();
                if notes.is_empty() { data.text } else { format!("{notes}----\n{}", data.text) }
            }
            Err(error) => {
                let (code, help) = (error.code().unwrap(), error.help().unwrap());
                format!("error: {error}\ncode: {code}\nhelp: {help}\n")
            }
        }
    });
}

#[test]
fn what_ec2_would_not_take_is_refused_before_it_is_asked() {
    let mut bootstrap: Bootstrap =
        serde_saphyr::from_str(include_str!("user_data/custom-text.yaml")).unwrap();
    bootstrap.user_data = Some("x".repeat(MAX_BYTES));
    assert_eq!(bootstrap.user_data().unwrap().text.len(), MAX_BYTES);
    bootstrap.user_data = Some("x".repeat(MAX_BYTES + 1));
    assert_eq!(bootstrap.user_data(), Err(UserDataError::TooLong { bytes: MAX_BYTES + 1 }));
    bootstrap.family = AmiFamily::Bottlerocket;
    bootstrap.user_data = Some(format!("# {}\n", "x".repeat(MAX_BYTES)));
    assert!(bootstrap.user_data().is_ok(), "comments don't count: they aren't passed on");
    bootstrap.user_data = Some(format!("# {}\n", "x".repeat(4 * MAX_BYTES)));
    assert_eq!(bootstrap.user_data(), Err(UserDataError::TooLong { bytes: 4 * MAX_BYTES + 3 }));
}
