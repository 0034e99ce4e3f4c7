//! Many nodes in few rows, so that a large fleet is one screen.

use super::{PoolPicture, Row};

/// So many rows fit a screen beside titles and axis.
const ROWS: usize = 40;

/// Folds rows until all pools together fit a screen: first nodes that are away at the same times, which is a wave, and where
/// that is not enough nodes that go one after the other. Rows of nodes in trouble are folded with their like only.
pub(crate) fn folded(pools: &mut [PoolPicture]) {
    if rows(pools) <= ROWS {
        return;
    }
    for pool in &mut *pools {
        pool.rows = together(std::mem::take(&mut pool.rows), |one, other| {
            let spans = |row: &Row| {
                row.bars
                    .iter()
                    .map(|bar| (bar.start, bar.end, bar.mark))
                    .collect::<Vec<_>>()
            };
            spans(one) == spans(other)
        });
    }
    let all = rows(pools);
    if all <= ROWS {
        return;
    }
    for pool in pools {
        // Each pool gets its share of the screen, and one row at least.
        let share = (pool.rows.len() * ROWS / all).max(1);
        let each = pool.rows.len().div_ceil(share);
        let mut filled = 0;
        pool.rows = together(std::mem::take(&mut pool.rows), |one, other| {
            let marks = |row: &Row| {
                let mut marks: Vec<_> = row.bars.iter().map(|bar| bar.mark).collect();
                marks.sort_unstable();
                marks.dedup();
                marks
            };
            filled += 1;
            let fits = filled < each && marks(one) == marks(other);
            if !fits {
                filled = 0;
            }
            fits
        });
    }
}

fn rows(pools: &[PoolPicture]) -> usize {
    pools.iter().map(|pool| pool.rows.len()).sum()
}

/// Joins rows that follow each other and are `alike`.
fn together(rows: Vec<Row>, mut alike: impl FnMut(&Row, &Row) -> bool) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::new();
    for row in rows {
        match joined.last_mut() {
            Some(group) if alike(group, &row) => add(group, row),
            _ => joined.push(row),
        }
    }
    joined
}

fn add(group: &mut Row, row: Row) {
    group.nodes += row.nodes;
    group.last = Some(row.last.unwrap_or(row.name));
    for bar in row.bars {
        let mut bars = group.bars.iter_mut();
        let same = bars.find(|other| (other.start, other.end, other.mark) == (bar.start, bar.end, bar.mark));
        match same {
            // One bar for all of them; a pointer over it shows what each node does.
            Some(other) => {
                other.tip.push_str("; ");
                other.tip.push_str(&bar.tip);
            }
            None => group.bars.push(bar),
        }
    }
}
