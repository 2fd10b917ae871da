//! Monitors: standing queries whose matches are told as they appear and disappear.
//!
//! | step | where |
//! |---|---|
//! | make a stored monitor | [`make`](mod@make) |
//! | compile a query, and refuse what cannot be watched | [`standing`] |
//! | the matches of a query in one version of a file | [`evaluate`] |
//! | compare the matches before and after an epoch, for all queries at once | [`find`] |
//! | look at one epoch after the other, and write what was found | [`look`] |
//! | decide whether a delivery may go to an address | [`address`] |
//! | sign and send a delivery; what its receiver's answer means | [`webhook`] |
//! | do both as long as a server runs | [`run`] |
//! | stop those whose owners have lost their tokens | [`rights`] |
//! | the feed of a monitor | [`atom`] |

mod address;
mod atom;
mod evaluate;
mod find;
mod look;
mod make;
mod name;
mod rights;
mod run;
mod sight;
mod standing;
mod webhook;

pub use address::check_address;
pub use atom::{ENTRIES, feed};
pub use find::{Found, Most, find};
pub use look::{Looker, Unkept, changes_of};
pub use make::{NotMade, make};
pub use rights::Rights;
pub use run::{Allow, run};
pub use sight::{Sight, cover};
pub use standing::{Invalid, Standing};
pub use webhook::send_test;
