//! Bounds on what is kept of monitors.

use sqlx::PgConnection;

use crate::error::Result;

/// News that are kept of each monitor, besides those that wait for delivery.
pub(super) const KEPT_NEWS: i64 = 500;

/// Deliveries of a monitor that may wait. Beyond that, the oldest are given up.
const MAX_WAITING: i64 = 1000;

/// Deletes old news of some monitors, and gives up deliveries that are too many.
pub(super) async fn prune(conn: &mut PgConnection, monitors: &[i32]) -> Result<()> {
    sqlx::query(
        "update deliveries d set state = 'given-up',
             said = format('given up: more than %s deliveries wait; see why the receiver refuses them', $2)
         from unnest($1::int[]) of (monitor)
         where d.monitor = of.monitor and d.state = 'waiting' and d.news <= (
             select news from deliveries o where o.monitor = of.monitor and o.state = 'waiting'
             order by news desc offset $2 limit 1)",
    )
    .bind(monitors)
    .bind(MAX_WAITING)
    .execute(&mut *conn)
    .await?;
    sqlx::query(
        "delete from monitor_news n using unnest($1::int[]) of (monitor)
         where n.monitor = of.monitor
           and n.epoch <= (select epoch from monitor_news o where o.monitor = of.monitor
                           order by epoch desc offset $2 limit 1)
           and not exists (select from deliveries d where d.news = n.id and d.state = 'waiting')",
    )
    .bind(monitors)
    .bind(KEPT_NEWS)
    .execute(conn)
    .await?;
    Ok(())
}
