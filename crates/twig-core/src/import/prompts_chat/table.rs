//! Rows of CSV, quotes and line ends inside them included. Any text has rows; none is a mistake.

use csv_core::{ReadRecordResult, Reader};

/// The rows of a text.
pub(super) fn rows(text: &str) -> impl Iterator<Item = Vec<String>> + '_ {
    let mut reader = Reader::new();
    let mut rest = text.as_bytes();
    let mut output = vec![0; 4096];
    let mut ends = vec![0; 16];
    std::iter::from_fn(move || {
        let (mut written, mut ended) = (0, 0);
        loop {
            let (result, read, out, end) =
                reader.read_record(rest, &mut output[written..], &mut ends[ended..]);
            rest = &rest[read..];
            written += out;
            ended += end;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => output.resize(output.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
                ReadRecordResult::End => return None,
                ReadRecordResult::Record => return Some(cells(&output, &ends[..ended])),
            }
        }
    })
}

fn cells(output: &[u8], ends: &[usize]) -> Vec<String> {
    let mut start = 0;
    let cells = ends.iter().map(|end| {
        let cell = output.get(start..*end).unwrap_or_default();
        start = *end;
        String::from_utf8_lossy(cell).into_owned()
    });
    cells.collect()
}

/// Whether a text begins like the catalogue.
pub(in crate::import) fn is_catalogue(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().next().unwrap_or_default();
    let cells: Vec<String> = rows(first).next().unwrap_or_default();
    let has = |name: &str| {
        cells
            .iter()
            .any(|cell| cell.trim().eq_ignore_ascii_case(name))
    };
    has("prompt") && (has("act") || has("title"))
}
