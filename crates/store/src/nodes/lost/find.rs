//! Finds the nodes that are to be given up, and checks that they are lost.

use std::time::Duration;

use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::nodes::moves::{no_other, unknown};
use crate::nodes::{members, places_of_groups, replies};

/// Nodes that are lost.
pub(super) struct Lost<'n> {
    /// Hosts and ports.
    pub(super) nodes: &'n [(String, u16)],
    /// Their names, as in `state.lost` and `repos.lost`.
    pub(super) names: String,
    /// Their numbers in `pg_dist_node`.
    pub(super) ids: Vec<i32>,
    pub(super) groups: Vec<i16>,
}

/// Number of looks at a node that does not answer before it counts as lost, and the pause between two: it may be starting.
const LOOKS: u32 = 5;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Returns the numbers of the nodes that answer none of several looks.
async fn silent(conn: &mut PgConnection) -> Result<Vec<i32>> {
    let look = async |conn: &mut PgConnection| {
        let replies = replies(conn, "select 1").await?;
        let silent = replies.iter().filter(|reply| !reply.success);
        Ok::<_, Error>(silent.map(|reply| reply.id).collect::<Vec<_>>())
    };
    let mut silent = look(conn).await?;
    for _ in 1..LOOKS {
        if silent.is_empty() {
            break;
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
        let still = look(conn).await?;
        silent.retain(|id| still.contains(id));
    }
    Ok(silent)
}

/// Finds nodes and their groups, and checks that they are lost and the others are not. `None` if they were given up before, and
/// their groups are made again.
pub(super) async fn find<'n>(
    conn: &mut PgConnection,
    nodes: &'n [(String, u16)],
) -> Result<Option<Lost<'n>>> {
    let refuse = |why: String| Err(Error::Unsuitable(why));
    let name = |(host, port): &(String, u16)| format!("{host}:{port}");
    let names = nodes.iter().map(name).collect::<Vec<_>>().join(" ");
    let (given_up, was): (Option<String>, bool) =
        sqlx::query_as("select lost, exists (select from repos where lost = $1) from state")
            .bind(&names)
            .fetch_one(&mut *conn)
            .await?;
    if let Some(other) = given_up.as_ref().filter(|other| **other != names) {
        return refuse(format!("first run: codesearch db rebuild {other}"));
    }
    let known = members(conn).await?;
    let mut ids = Vec::new();
    for node in nodes {
        let node = name(node);
        match known.iter().find(|member| member.name == node) {
            None if was => return Ok(None),
            None => return Err(unknown(&node)),
            Some(member) if member.group == 0 => {
                return refuse(format!(
                    "{node} is the coordinator, which has more than files of repositories; restore it from its backup"
                ));
            }
            Some(member) => ids.push(member.id),
        }
    }
    if !known.iter().any(|member| member.takes_groups && !ids.contains(&member.id)) {
        return Err(no_other(&names));
    }
    if !sqlx::query_scalar::<_, bool>("select has_table_privilege('pg_dist_node', 'update')")
        .fetch_one(&mut *conn)
        .await?
    {
        return refuse(
            "only a superuser of the coordinator can give a node up; use its name in DATABASE_URL"
                .to_owned(),
        );
    }
    let silent = silent(conn).await?;
    let found =
        |of: &dyn Fn(&i32) -> bool| known.iter().find(|one| of(&one.id)).map(|one| &one.name);
    // What was given up is empty by now, whatever comes back.
    if given_up.is_none()
        && let Some(node) = found(&|id| ids.contains(id) && !silent.contains(id))
    {
        return refuse(format!(
            "the node {node} answers, so nothing is lost; to have others take its groups, run: codesearch db rebalance \
             --drain {node}"
        ));
    }
    if let Some(node) = found(&|id| !ids.contains(id) && silent.contains(id)) {
        return refuse(format!(
            "the node {node} does not answer, either; start it first, or if it is lost, too, run: codesearch db rebuild \
             {names} {node}"
        ));
    }
    let places = places_of_groups(conn).await?.into_iter();
    let groups =
        places.filter(|(_, place)| ids.contains(&place.id)).map(|(group, _)| group).collect();
    Ok(Some(Lost { nodes, names, ids, groups }))
}
