//! Names that nobody chose, from a seed.

/// A source of uids and suffixes. The same seed gives the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Ids(u64);

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of the splitmix64 sequence.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A uid in the form of a random UUID.
    pub(crate) fn uid(&mut self) -> String {
        let bits = u128::from(self.next()) << 64 | u128::from(self.next());
        uuid::Builder::from_random_bytes(bits.to_be_bytes())
            .into_uuid()
            .to_string()
    }

    /// Five letters and digits that spell no words, as Kubernetes completes names.
    pub(crate) fn suffix(&mut self) -> String {
        const LETTERS: [char; 27] = [
            'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z', '2',
            '4', '5', '6', '7', '8', '9',
        ];
        (0..5)
            .filter_map(|_| {
                let index = usize::try_from(self.next() % 27).ok()?;
                LETTERS.get(index)
            })
            .collect()
    }
}
