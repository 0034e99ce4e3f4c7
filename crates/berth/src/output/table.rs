//! Tables as kubectl prints them: upper-case headers, three spaces between columns, no borders.

use std::fmt;

use super::printable;

const GAP: &str = "   ";

/// Rows of text under headers.
#[derive(Debug)]
pub(crate) struct Table {
    headers: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(headers: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            headers: headers.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. An empty cell is shown as `<none>`, so that columns can be cut out by scripts.
    pub(crate) fn row<I>(&mut self, cells: I)
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let cells = cells.into_iter().map(|cell| match cell.as_ref() {
            "" => "<none>".to_owned(),
            text => printable(text).into_owned(),
        });
        self.rows.push(cells.collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = self.headers.iter().map(|header| width(header)).collect();
        for row in &self.rows {
            for (cell, widest) in row.iter().zip(&mut widths) {
                *widest = (*widest).max(width(cell));
            }
        }
        write_row(f, self.headers.iter().copied(), &widths)?;
        for row in &self.rows {
            write_row(f, row.iter().map(String::as_str), &widths)?;
        }
        Ok(())
    }
}

fn write_row<'a>(
    f: &mut fmt::Formatter<'_>,
    cells: impl ExactSizeIterator<Item = &'a str>,
    widths: &[usize],
) -> fmt::Result {
    let last = cells.len().saturating_sub(1);
    for (index, (cell, width_of_column)) in cells.zip(widths).enumerate() {
        f.write_str(cell)?;
        if index < last {
            let padding = width_of_column.saturating_sub(width(cell));
            write!(f, "{:padding$}{GAP}", "")?;
        }
    }
    f.write_str("\n")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new(["NODE", "POOL"]);
        table.row(["a-long-name", "infra"]);
        table.row(["b", ""]);
        assert_eq!(
            table.to_string(),
            "NODE          POOL\na-long-name   infra\nb             <none>\n"
        );
    }
}
