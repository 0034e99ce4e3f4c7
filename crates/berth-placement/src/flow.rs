//! Maximum flow by Dinic's algorithm, in whole units.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: usize,
    /// What can still flow.
    left: u32,
}

/// A network of edges; each edge has its reverse beside it.
#[derive(Debug)]
pub(crate) struct Flow {
    edges: Vec<Edge>,
    of: Vec<Vec<usize>>,
}

impl Flow {
    pub(crate) fn new(vertices: usize) -> Self {
        Self {
            edges: Vec::new(),
            of: vec![Vec::new(); vertices],
        }
    }

    /// Adds a vertex.
    pub(crate) fn vertex(&mut self) -> usize {
        self.of.push(Vec::new());
        self.of.len() - 1
    }

    /// Adds an edge and gives its number.
    pub(crate) fn edge(&mut self, from: usize, to: usize, capacity: u32) -> usize {
        let number = self.edges.len();
        self.edges.push(Edge { to, left: capacity });
        self.edges.push(Edge { to: from, left: 0 });
        self.of[from].push(number);
        self.of[to].push(number + 1);
        number
    }

    /// Whether something flows through an edge.
    pub(crate) fn is_used(&self, edge: usize) -> bool {
        self.edges[edge ^ 1].left > 0
    }

    /// Lets as much flow as possible, and says how much.
    pub(crate) fn run(&mut self, source: usize, sink: usize) -> u32 {
        let mut total = 0;
        loop {
            let level = self.levels(source);
            if level[sink] == usize::MAX {
                return total;
            }
            let mut next = vec![0; self.of.len()];
            loop {
                let pushed = self.push(source, sink, &level, &mut next);
                if pushed == 0 {
                    break;
                }
                total += pushed;
            }
        }
    }

    /// The vertices that can still be reached from the source: the source's side of a smallest cut.
    pub(crate) fn reachable(&self, source: usize) -> Vec<bool> {
        self.levels(source).iter().map(|level| *level != usize::MAX).collect()
    }

    fn levels(&self, source: usize) -> Vec<usize> {
        let mut level = vec![usize::MAX; self.of.len()];
        level[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(vertex) = queue.pop_front() {
            for &number in &self.of[vertex] {
                let edge = self.edges[number];
                if edge.left > 0 && level[edge.to] == usize::MAX {
                    level[edge.to] = level[vertex] + 1;
                    queue.push_back(edge.to);
                }
            }
        }
        level
    }

    /// One way from source to sink along the levels, without recursion: the depth is the input's.
    fn push(&mut self, source: usize, sink: usize, level: &[usize], next: &mut [usize]) -> u32 {
        let mut way: Vec<usize> = Vec::new();
        let mut vertex = source;
        loop {
            if vertex == sink {
                let amount = way.iter().map(|edge| self.edges[*edge].left).min().unwrap_or_default();
                for &edge in &way {
                    self.edges[edge].left -= amount;
                    self.edges[edge ^ 1].left += amount;
                }
                return amount;
            }
            let found = loop {
                let Some(&number) = self.of[vertex].get(next[vertex]) else {
                    break None;
                };
                let edge = self.edges[number];
                if edge.left > 0 && level[edge.to] == level[vertex] + 1 {
                    break Some(number);
                }
                next[vertex] += 1;
            };
            match found {
                Some(number) => {
                    way.push(number);
                    vertex = self.edges[number].to;
                }
                None => {
                    let Some(back) = way.pop() else {
                        return 0;
                    };
                    vertex = self.edges[back ^ 1].to;
                    next[vertex] += 1;
                }
            }
        }
    }
}
