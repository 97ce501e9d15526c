//! Bare inserts by the driver of the store, one after the other: how many a second. The floor of
//! `tests/replicas/figures.py`, which runs it with a URL and seconds; without them it does nothing.

#![allow(clippy::print_stdout, reason = "the figure is all that it has to say")]

use std::error::Error;
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(seconds)) = (arguments.next(), arguments.next()) else {
        return Ok(());
    };
    let time = Duration::from_secs_f64(seconds.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    println!("{:.1}", runtime.block_on(inserts(&url, time))?);
    Ok(())
}

async fn inserts(url: &str, time: Duration) -> Result<f64, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    let table = "CREATE TABLE IF NOT EXISTS public.floor (id bigserial PRIMARY KEY, text text)";
    client.batch_execute(table).await?;
    let insert = client
        .prepare("INSERT INTO public.floor (text) VALUES ($1)")
        .await?;
    let begun = Instant::now();
    let mut made = 0.0;
    while begun.elapsed() < time {
        client
            .execute(&insert, &[&"This is one text of a prompt"])
            .await?;
        made += 1.0;
    }
    Ok(made / begun.elapsed().as_secs_f64())
}
