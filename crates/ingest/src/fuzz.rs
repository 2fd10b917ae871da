//! Entry points for the fuzzers in `fuzz/`: no input makes them panic. The unit tests replay the inputs in `fuzz/kept`.

pub use crate::fuzz_files::{file, git};
pub use crate::scip::fuzz::scip;

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn inputs_that_were_kept() {
        type Target = fn(&[u8]);
        let targets: [(&str, Target); 3] =
            [("file", super::file), ("git", super::git), ("scip", super::scip)];
        for (name, target) in targets {
            let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept").join(name);
            let mut tried = 0;
            for file in std::fs::read_dir(&kept).unwrap() {
                target(&std::fs::read(file.unwrap().path()).unwrap());
                tried += 1;
            }
            assert!(tried > 0, "{}", kept.display());
        }
    }
}
