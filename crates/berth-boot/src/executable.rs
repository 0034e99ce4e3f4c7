//! Whether bytes are an executable that runs on any node.

use crate::error::BootError;

/// The type of the segment that names a dynamic loader.
const PT_INTERP: u64 = 3;

/// Refuses what is not an executable, and one that needs a dynamic loader: the node's image may have none that fits, and a
/// generator that cannot start is not missed by anybody until labels are.
pub(crate) fn check_executable(bytes: &[u8]) -> Result<(), BootError> {
    match needs_loader(bytes) {
        None => Err(BootError::NotExecutable),
        Some(true) => Err(BootError::NeedsLoader),
        Some(false) => Ok(()),
    }
}

/// Whether the program headers name a dynamic loader; `None` for what is not an ELF file for 64 bits.
pub fn needs_loader(bytes: &[u8]) -> Option<bool> {
    if bytes.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let is_big_endian = match bytes.get(5)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    let number = |at: usize, length: usize| -> Option<u64> {
        let field = bytes.get(at..at.checked_add(length)?)?;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if is_big_endian {
            field.iter().fold(0, add)
        } else {
            field.iter().rev().fold(0, add)
        })
    };
    let start = usize::try_from(number(0x20, 8)?).ok()?;
    let size = usize::try_from(number(0x36, 2)?).ok()?;
    let count = usize::try_from(number(0x38, 2)?).ok()?;
    for index in 0..count {
        let header = start.checked_add(index.checked_mul(size)?)?;
        if number(header, 4)? == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header with one program header of this type.
    fn elf(segment: u8, is_big_endian: bool) -> Vec<u8> {
        let mut bytes = vec![0; 0x40 + 0x38];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        bytes[5] = 1 + u8::from(is_big_endian);
        let low = |at: usize, length: usize| if is_big_endian { at + length - 1 } else { at };
        bytes[low(0x20, 8)] = 0x40;
        bytes[low(0x36, 2)] = 0x38;
        bytes[low(0x38, 2)] = 1;
        bytes[low(0x40, 4)] = segment;
        bytes
    }

    #[test]
    fn a_loader_is_seen_whatever_the_byte_order() {
        for is_big_endian in [false, true] {
            assert_eq!(needs_loader(&elf(3, is_big_endian)), Some(true));
            assert_eq!(needs_loader(&elf(1, is_big_endian)), Some(false));
        }
        // Test programs are linked dynamically or not, but understood.
        let ours = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(needs_loader(&ours).is_some());
    }

    #[test]
    fn cut_off_or_other_files_are_no_executables() {
        let whole = elf(3, false);
        for end in 0..whole.len() {
            assert_ne!(needs_loader(&whole[..end]), Some(false), "{end}");
        }
        for other in [&b"#!/bin/sh\n"[..], b"\x7fELF\x01\x01", b"\x7fELF\x02\x03", b""] {
            assert!(matches!(check_executable(other), Err(BootError::NotExecutable)));
        }
        assert!(matches!(check_executable(&whole), Err(BootError::NeedsLoader)));
    }
}
