//! The parts of clients' limits that servers take from what all servers may give together.

use std::time::Duration;

use sqlx::FromRow;

use crate::error::Result;
use crate::servers::SERVERS;
use crate::store::Store;
use crate::target::answered;

/// Maximum time to take a part. A search waits for it.
const ANSWERS: Duration = Duration::from_secs(2);

/// A rate: what a client may use in a minute. A server has some of it, gives it back, and wants some again.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedAllowance {
    /// The most in a minute; `None` for no limit.
    pub per_minute: Option<f64>,
    /// What is given back; less than 0 if the server has given the client more than it had.
    pub back: f64,
    /// What is wanted.
    pub wanted: f64,
}

/// What a server asks of a client's limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskedAllowance {
    /// Whether to take all, if there is no other server any more.
    pub ends: bool,
    /// Concurrent searches: the most, those that run at this server, and how many it wants to run.
    pub running: (Option<u32>, u32, u32),
    /// Searches.
    pub searches: WantedAllowance,
    /// Bytes.
    pub bytes: WantedAllowance,
}

/// What a server may give to a client. `None` where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct TakenAllowance {
    /// Concurrent searches that may run at this server; and at the others.
    pub running_taken: Option<i32>,
    /// Concurrent searches that other servers have.
    pub others_running: Option<i32>,
    /// Searches.
    pub searches_taken: Option<f64>,
    /// Searches that nobody has taken.
    pub searches_left: Option<f64>,
    /// Bytes.
    pub bytes_taken: Option<f64>,
    /// Bytes that nobody has taken; less than 0 if overdrawn.
    pub bytes_left: Option<f64>,
    /// Whether all was taken: this server has the limits for itself.
    pub ended: bool,
}

impl Store {
    /// Gives back what a server has of a client's limits, and takes some again.
    ///
    /// # Errors
    /// The server cannot be reached, refuses the statement, or does not answer in time.
    pub async fn take_allowance(
        &self,
        client: &str,
        server: i32,
        asked: AskedAllowance,
    ) -> Result<TakenAllowance> {
        let (most, running, wanted) = asked.running;
        let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let taking = sqlx::query_as(
            "select * from take_allowance($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        )
        .bind(client)
        .bind(server)
        .bind(asked.ends)
        .bind(most.map(count))
        .bind(count(running))
        .bind(count(wanted))
        .bind(asked.searches.per_minute)
        .bind(asked.searches.back)
        .bind(asked.searches.wanted)
        .bind(asked.bytes.per_minute)
        .bind(asked.bytes.back)
        .bind(asked.bytes.wanted)
        .fetch_one(self.control());
        Ok(answered(ANSWERS, taking).await?)
    }

    /// Asks the other servers to give back what they have of a client's limits and do not use.
    ///
    /// # Errors
    /// As of [`take_allowance`](Self::take_allowance).
    pub async fn recall_allowance(&self, client: &str) -> Result<()> {
        let asking = sqlx::query("select pg_notify($1, $2)").bind(SERVERS).bind(client);
        answered(ANSWERS, asking.execute(self.control())).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::testing::on_index;

    fn rate(per_minute: f64, back: f64, wanted: f64) -> WantedAllowance {
        WantedAllowance { per_minute: Some(per_minute), back, wanted }
    }

    #[test]
    fn servers_take_no_more_than_the_limits_of_a_client() {
        on_index(1, async |store| {
            let ask = async |server, running, searches, bytes| {
                let asked = AskedAllowance { ends: false, running, searches, bytes };
                store.take_allowance("one", server, asked).await.unwrap()
            };
            let none = WantedAllowance::default();
            let begun = Instant::now();
            let first = ask(1, (Some(3), 0, 2), rate(10.0, 0.0, 8.0), none).await;
            assert_eq!((first.running_taken, first.others_running), (Some(2), Some(0)));
            assert_eq!((first.searches_taken, first.bytes_taken), (Some(8.0), None));
            let other = ask(2, (Some(3), 0, 2), rate(10.0, 0.0, 8.0), none).await;
            assert_eq!((other.running_taken, other.others_running), (Some(1), Some(2)));
            let taken = other.searches_taken.unwrap();
            // What the first one left, and what has been filled since.
            let filled = 10.0 / 60.0 * begun.elapsed().as_secs_f64();
            assert!((2.0..=2.0 + filled).contains(&taken), "{taken}");
            // What runs already is never too much.
            let third = ask(3, (Some(3), 4, 5), none, none).await;
            assert_eq!(third.running_taken, Some(4));
            let back = ask(2, (Some(3), 0, 0), rate(10.0, taken, 0.0), none).await;
            assert_eq!((back.running_taken, back.searches_taken), (Some(0), Some(0.0)));
            // An overdrawn client has less than nothing.
            let asked = rate(60.0, -60_000.0, 5.0);
            let owing = ask(1, (None, 0, 0), none, asked).await;
            assert_eq!(owing.bytes_taken, Some(0.0));
            assert!(owing.bytes_left.unwrap() < -500.0);
            // No server is left: this one takes all.
            let asked = AskedAllowance {
                ends: true,
                running: (Some(3), 0, 1),
                ..AskedAllowance::default()
            };
            let all = store.take_allowance("one", 1, asked).await.unwrap();
            assert!(all.ended && all.running_taken == Some(3));
        });
    }
}
