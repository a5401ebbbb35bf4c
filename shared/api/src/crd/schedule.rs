//! Checks the cron lines of budgets, as Karpenter reads them: five fields, no years, no seconds.

/// What is wrong with a cron line of at least five fields.
pub(super) fn check(line: &str) -> Result<(), String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields.as_slice() else {
        return Err(format!("must have five fields, has {}", fields.len()));
    };
    field("minute", minute, 0, 59, &[])?;
    field("hour", hour, 0, 23, &[])?;
    field("day of the month", day, 1, 31, &[])?;
    field("month", month, 1, 12, &MONTHS)?;
    field("day of the week", weekday, 0, 6, &DAYS)
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

fn field(name: &str, text: &str, least: u32, most: u32, words: &[&str]) -> Result<(), String> {
    for part in text.split(',') {
        let wrong = || format!("the {name} must be from {least} to {most}, is {part:?}");
        let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
        if step.is_some_and(|step| !step.parse::<u32>().is_ok_and(|step| step > 0)) {
            return Err(format!("the step of the {name} must be a number above zero, is {part:?}"));
        }
        if matches!(range, "*" | "?") {
            continue;
        }
        let number = |text: &str| -> Option<u32> {
            let lower = text.to_lowercase();
            let word = words.iter().position(|word| *word == lower);
            let number = match word {
                Some(position) => u32::try_from(position).ok()? + least,
                None => text.parse().ok()?,
            };
            (least..=most).contains(&number).then_some(number)
        };
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to => {}
            (Some(_), Some(_)) => return Err(format!("the {name} runs backwards: {part:?}")),
            _ => return Err(wrong()),
        }
    }
    Ok(())
}
