//! Rows of CSV, including quotes and line ends inside them. Any text is valid CSV.

use csv_core::{ReadRecordResult, Reader};

/// One row.
pub(super) struct PromptsChatRow {
    /// Its cells.
    pub(super) cells: Vec<String>,
    /// The line of an unclosed quote: everything after it is in the last cell.
    pub(super) open_quote: Option<usize>,
}

/// The rows of a text.
pub(super) fn rows(text: &str) -> impl Iterator<Item = PromptsChatRow> + '_ {
    let mut reader = Reader::new();
    let mut rest = text.as_bytes();
    let mut output = vec![0; 4096];
    let mut ends = vec![0; 16];
    std::iter::from_fn(move || {
        let start = text.len() - rest.len();
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
                ReadRecordResult::Record => {
                    let is_last = rest.is_empty();
                    let open = is_last.then(|| open_quote(&text.as_bytes()[start..]));
                    let lines = |end: usize| text[..end].matches('\n').count() + 1;
                    return Some(PromptsChatRow {
                        cells: cells(&output, &ends[..ended]),
                        open_quote: open.flatten().map(|at| lines(start + at)),
                    });
                }
            }
        }
    })
}

/// The state of reading a cell.
#[derive(Clone, Copy)]
enum CellPosition {
    Start,
    Bare,
    /// After the quote at an offset.
    Quoted(usize),
    /// After a quote that closes, or is the first of two that stand for one.
    Closed(usize),
}

/// The position of an unclosed quote in the last row of a text.
fn open_quote(row: &[u8]) -> Option<usize> {
    let mut place = CellPosition::Start;
    for (at, byte) in row.iter().enumerate() {
        place = match (place, byte) {
            (CellPosition::Start, b'"') => CellPosition::Quoted(at),
            (CellPosition::Quoted(from), b'"') => CellPosition::Closed(from),
            (CellPosition::Closed(from), b'"') | (CellPosition::Quoted(from), _) => {
                CellPosition::Quoted(from)
            }
            (_, b',' | b'\n' | b'\r') => CellPosition::Start,
            _ => CellPosition::Bare,
        };
    }
    match place {
        CellPosition::Quoted(from) => Some(from),
        _ => None,
    }
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

/// True if a text begins like the catalogue.
pub(in crate::import) fn is_catalogue(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().next().unwrap_or_default();
    let cells = rows(first).next().map(|row| row.cells).unwrap_or_default();
    let has = |name: &str| {
        cells
            .iter()
            .any(|cell| cell.trim().eq_ignore_ascii_case(name))
    };
    has("prompt") && (has("act") || has("title"))
}
