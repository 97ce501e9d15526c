//! One HTTP/1.1 request, read whole.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

/// A request with its body.
#[derive(Debug)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// The path, as sent.
    pub(crate) path: String,
    /// What follows the question mark.
    pub(crate) query: String,
    /// Without its transfer encoding; its content encoding is left.
    pub(crate) body: Vec<u8>,
    headers: Vec<(String, String)>,
}

impl HttpRequest {
    /// Reads a request; fails if the connection ends before it does.
    pub(crate) fn read(mut stream: &TcpStream) -> io::Result<Self> {
        let mut input = BufReader::new(stream);
        let first = read_line(&mut input)?;
        let mut words = first.split(' ').map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(ErrorKind::InvalidData.into());
        };
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut request = Self {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            body: Vec::new(),
            headers: read_headers(&mut input)?,
        };
        if request.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = request.read_body(&mut input)?;
        Ok(request)
    }

    /// The path and the query.
    pub(crate) fn target(&self) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", self.path, self.query)
    }

    /// The value of a header, named in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn read_body(&self, input: &mut impl BufRead) -> io::Result<Vec<u8>> {
        if self.header("transfer-encoding") == Some("chunked") {
            return read_chunks(input);
        }
        let length = self.header("content-length").unwrap_or("0");
        let length = length.parse().map_err(|_| ErrorKind::InvalidData)?;
        let mut body = Vec::new();
        read_exactly(input, length, &mut body)?;
        Ok(body)
    }
}

/// The header lines up to the empty one, names in lower case; also of a CGI program's output.
pub(crate) fn read_headers(input: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(input)?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line.split_once(':').ok_or(ErrorKind::InvalidData)?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn read_chunks(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(input)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| ErrorKind::InvalidData)?;
        if size == 0 {
            // Trailers end with an empty line as headers do.
            read_headers(input)?;
            return Ok(body);
        }
        read_exactly(input, size, &mut body)?;
        read_line(input)?;
    }
}

fn read_exactly(input: &mut impl BufRead, size: u64, body: &mut Vec<u8>) -> io::Result<()> {
    let read = input.take(size).read_to_end(body)?;
    if u64::try_from(read).is_ok_and(|read| read == size) {
        Ok(())
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}
