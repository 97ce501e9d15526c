//! What kind of value an operand has, as far as a template shows it before it is rendered.
//!
//! Arguments are text. The engine orders any text after any number without an error, so that
//! `{% if n > 100 %}` would be true for every `n`: [`misordered`] finds that. The engine also knows
//! `%` for numbers only: [`with_formatting`] has a filter do it where the left side is text.
//!
//! Kinds follow the grammar, not the flow: a name that is set anywhere has the kind of all its
//! values together, and one that is never set is an argument.

use std::collections::HashMap;
use std::ops::Range;

use minijinja::machinery::ast::{
    BinOpKind, Call, CallArg, CallType, CompareOpKind, Expr, Filter, Stmt, UnaryOpKind,
};
use minijinja::machinery::parse;
use minijinja::value::ValueKind;

use super::failure::{EngineError, FUNCTIONS};
use super::syntax;
use crate::problem::{locate, shorten};
use crate::template::scan::{TokenKind, Tokens};

/// The filter that does the work of `%` on text.
pub(super) const PERCENT: &str = "_percent";

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OperandKind {
    Text,
    Number,
    /// A list of texts.
    Texts,
    Unknown,
}

impl OperandKind {
    /// The kind of one of the items.
    fn item(self) -> Self {
        match self {
            Self::Text | Self::Texts => Self::Text,
            Self::Number | Self::Unknown => Self::Unknown,
        }
    }

    /// The kind of a value that is either of two.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            // It is text in some cases, and those go wrong.
            (Self::Text, _) | (_, Self::Text) => Self::Text,
            (one, two) if one == two => one,
            _ => Self::Unknown,
        }
    }
}

/// The first text that one of these templates orders against a number.
pub(crate) fn misordered(sources: &[(&str, &str)]) -> Option<EngineError> {
    let trees = trees(sources);
    let names = Names::read(&trees);
    trees.iter().find_map(|(template, source, tree)| {
        let mut found = None;
        statement(tree, &mut |expression| {
            if found.is_none() {
                found = names.misordered(source, expression);
            }
        });
        let (range, message) = found?;
        Some(EngineError {
            template: (*template).to_owned(),
            in_main: true,
            line: Some(locate(source, range.clone()).line),
            range: Some(range),
            message,
            is_limit: false,
            undefined: None,
        })
    })
}

/// A template in which a filter does what `%` cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rewritten {
    /// As it was written.
    pub(super) original: String,
    /// Pieces that were replaced: their bytes in the original, and how long they are now.
    edits: Vec<(Range<usize>, usize)>,
}

impl Rewritten {
    /// A template that the engine gets as it was written.
    pub(super) fn unchanged(source: &str) -> Self {
        Self {
            original: source.to_owned(),
            edits: Vec::new(),
        }
    }

    /// The bytes in the original for some of the rewritten text.
    pub(super) fn original_range(&self, range: Range<usize>) -> Range<usize> {
        self.original_offset(range.start)..self.original_offset(range.end)
    }

    fn original_offset(&self, offset: usize) -> usize {
        let mut ahead = 0;
        for (replaced, length) in &self.edits {
            let start = replaced.start + ahead;
            if offset < start {
                break;
            }
            if offset < start + length {
                return replaced.start;
            }
            ahead = ahead + length - replaced.len();
        }
        offset - ahead
    }
}

/// The templates that use `%` on text, each with the text that the engine gets.
pub(super) fn with_formatting(sources: &[(&str, &str)]) -> HashMap<String, (Rewritten, String)> {
    if !sources.iter().any(|(_, source)| has_percent(source)) {
        return HashMap::new();
    }
    let trees = trees(sources);
    let names = Names::read(&trees);
    let rewritten = trees.iter().filter_map(|(template, source, tree)| {
        if !has_percent(source) {
            return None;
        }
        let mut places = Vec::new();
        statement(tree, &mut |expression| {
            if let Expr::BinOp(operation) = expression
                && matches!(operation.op, BinOpKind::Rem)
                && names.kind(&operation.left) == OperandKind::Text
            {
                places.push(PercentPlace {
                    left: operation.left.span().end_offset as usize,
                    end: operation.span().end_offset as usize,
                    is_single: match &operation.left {
                        Expr::BinOp(left) => matches!(left.op, BinOpKind::Rem),
                        left => !matches!(left, Expr::UnaryOp(_)),
                    },
                });
            }
        });
        let edits = edits(source, &places)?;
        Some(((*template).to_owned(), rewrite(source, &edits)))
    });
    rewritten.collect()
}

/// Whether a source may have the operator: a `%` that is no part of a tag's delimiters.
fn has_percent(source: &str) -> bool {
    let bytes = source.as_bytes();
    (1..bytes.len())
        .any(|at| bytes[at] == b'%' && bytes[at - 1] != b'{' && bytes.get(at + 1) != Some(&b'}'))
}

/// Where `%` is used on text.
struct PercentPlace {
    /// The end of its left side.
    left: usize,
    /// The end of its right side.
    end: usize,
    /// False if the left side has an operator of its own, so that it needs brackets.
    is_single: bool,
}

/// What to write for each `%`, and behind its right side.
fn edits(source: &str, places: &[PercentPlace]) -> Option<Vec<(Range<usize>, String)>> {
    if places.is_empty() {
        return None;
    }
    let operators: Vec<Range<usize>> = Tokens::new(source)
        .filter(|token| token.kind == TokenKind::Sign("%"))
        .map(|token| token.range)
        .collect();
    let mut edits = Vec::new();
    for place in places {
        let operator = operators.iter().find(|range| range.start >= place.left)?;
        // Between the sides are only brackets that belong to the left one.
        let between = source.get(place.left..operator.start)?;
        let is_bare = between.chars().all(char::is_whitespace);
        if is_bare && !place.is_single || place.end < operator.end {
            continue;
        }
        edits.push((operator.clone(), format!("|{PERCENT}(")));
        edits.push((place.end..place.end, ")".to_owned()));
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    (!edits.is_empty()).then_some(edits)
}

fn rewrite(source: &str, edits: &[(Range<usize>, String)]) -> (Rewritten, String) {
    let mut text = String::with_capacity(source.len() + edits.len() * PERCENT.len());
    let mut at = 0;
    for (range, new) in edits {
        text.push_str(&source[at..range.start]);
        text.push_str(new);
        at = range.end;
    }
    text.push_str(&source[at..]);
    let edits = edits.iter();
    let rewritten = Rewritten {
        original: source.to_owned(),
        edits: edits
            .map(|(range, new)| (range.clone(), new.len()))
            .collect(),
    };
    (rewritten, text)
}

type Trees<'s> = Vec<(&'s str, &'s str, Stmt<'s>)>;

/// The templates that can be parsed; the engine reports the others.
fn trees<'s>(sources: &[(&'s str, &'s str)]) -> Trees<'s> {
    let trees = sources.iter().filter_map(|(name, source)| {
        let tree = parse(source, name, syntax()).ok()?;
        Some((*name, *source, tree))
    });
    trees.collect()
}

/// The bytes of an expression; the parser counts a filter without its value.
fn whole(expression: &Expr<'_>) -> Range<usize> {
    let span = expression.span();
    let start = match expression {
        Expr::Filter(filter) => filter.expr.as_ref().map(|value| whole(value).start),
        Expr::Test(test) => Some(whole(&test.expr).start),
        _ => None,
    };
    let own = span.start_offset as usize;
    start.map_or(own, |start| start.min(own))..span.end_offset as usize
}

/// The names that the templates give a value, with its kind.
#[derive(Default)]
struct Names<'s> {
    kinds: HashMap<&'s str, OperandKind>,
}

impl<'s> Names<'s> {
    fn read(trees: &Trees<'s>) -> Self {
        // A name may be set from another, so kinds are only known once all names are.
        let mut names = Self::default();
        for (_, _, tree) in trees {
            bindings(tree, &mut |name, _| {
                names.kinds.insert(name, OperandKind::Unknown);
            });
        }
        let mut kinds: HashMap<&str, OperandKind> = HashMap::new();
        for (_, _, tree) in trees {
            bindings(tree, &mut |name, value| {
                let kind = match value {
                    Binding::Value(value) => names.kind(value),
                    Binding::Item(value) => names.kind(value).item(),
                    Binding::Text => OperandKind::Text,
                    Binding::Other => OperandKind::Unknown,
                };
                let known = kinds.entry(name).or_insert(kind);
                if *known != kind {
                    *known = OperandKind::Unknown;
                }
            });
        }
        names.kinds = kinds;
        names
    }

    fn misordered(&self, source: &str, expression: &Expr<'_>) -> Option<(Range<usize>, String)> {
        let mixed = |one: &Expr<'_>, two: &Expr<'_>| match (self.kind(one), self.kind(two)) {
            (OperandKind::Text, OperandKind::Number) => Some(whole(one)),
            (OperandKind::Number, OperandKind::Text) => Some(whole(two)),
            _ => None,
        };
        let text = match expression {
            Expr::BinOp(operation) => match operation.op {
                BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte => {
                    mixed(&operation.left, &operation.right)
                }
                _ => None,
            },
            Expr::Compare(chain) => {
                let mut left = &chain.expr;
                chain.ops.iter().find_map(|operation| {
                    let orders = matches!(
                        operation.op,
                        CompareOpKind::Lt
                            | CompareOpKind::Lte
                            | CompareOpKind::Gt
                            | CompareOpKind::Gte
                    );
                    let found = mixed(left, &operation.expr).filter(|_| orders);
                    left = &operation.expr;
                    found
                })
            }
            Expr::Test(test) => match (test.name, &test.args[..]) {
                ("lt" | "le" | "gt" | "ge" | "lessthan" | "greaterthan", [CallArg::Pos(other)]) => {
                    mixed(&test.expr, other)
                }
                _ => None,
            },
            _ => None,
        };
        let text = source.get(text?).unwrap_or_default();
        // A filter applies to the last part of an expression with operators.
        let converted = if text.contains(char::is_whitespace) && !text.ends_with([')', ']']) {
            format!("({text})|int")
        } else {
            format!("{text}|int")
        };
        let message = format!(
            "`{}` is text and has no order with a number; write `{}`",
            shorten(text, 40),
            shorten(&converted, 50),
        );
        Some((whole(expression), message))
    }

    fn kind(&self, expression: &Expr<'_>) -> OperandKind {
        match expression {
            Expr::Const(constant) => match constant.value.kind() {
                ValueKind::String => OperandKind::Text,
                ValueKind::Number | ValueKind::Bool => OperandKind::Number,
                _ => OperandKind::Unknown,
            },
            Expr::Var(name) => self.kind_of_name(name.id),
            Expr::Slice(slice) => match self.kind(&slice.expr) {
                OperandKind::Number => OperandKind::Unknown,
                kind => kind,
            },
            Expr::UnaryOp(operation) => match operation.op {
                UnaryOpKind::Neg => OperandKind::Number,
                UnaryOpKind::Not => OperandKind::Unknown,
            },
            Expr::BinOp(operation) => {
                let (left, right) = (self.kind(&operation.left), self.kind(&operation.right));
                kind_of_operation(operation.op, left, right)
            }
            Expr::IfExpr(choice) => match &choice.false_expr {
                Some(otherwise) => self.kind(&choice.true_expr).or(self.kind(otherwise)),
                None => self.kind(&choice.true_expr),
            },
            Expr::Filter(filter) => self.kind_of_filter(filter),
            Expr::GetAttr(attribute) => match &attribute.expr {
                Expr::Var(name) if name.id == "loop" => match attribute.name {
                    "index" | "index0" | "revindex" | "revindex0" | "length" | "depth"
                    | "depth0" => OperandKind::Number,
                    _ => OperandKind::Unknown,
                },
                _ => OperandKind::Unknown,
            },
            Expr::GetItem(item) => self.kind(&item.expr).item(),
            Expr::Call(call) => self.kind_of_call(call),
            Expr::List(list) => {
                let is_text = |item| self.kind(item) == OperandKind::Text;
                if !list.items.is_empty() && list.items.iter().all(is_text) {
                    OperandKind::Texts
                } else {
                    OperandKind::Unknown
                }
            }
            Expr::Compare(_) | Expr::Test(_) | Expr::Tuple(_) | Expr::Map(_) => {
                OperandKind::Unknown
            }
        }
    }

    fn kind_of_name(&self, name: &str) -> OperandKind {
        match self.kinds.get(name) {
            Some(kind) => *kind,
            // The engine's own names are no arguments.
            None if matches!(
                name,
                "loop" | "self" | "super" | "caller" | "varargs" | "kwargs"
            ) || FUNCTIONS.contains(&name) =>
            {
                OperandKind::Unknown
            }
            None => OperandKind::Text,
        }
    }

    fn kind_of_filter(&self, filter: &Filter<'_>) -> OperandKind {
        let value = filter.expr.as_ref().map(|value| self.kind(value));
        let value = value.unwrap_or(OperandKind::Unknown);
        match filter.name {
            "abs" | "count" | "float" | "int" | "length" | "round" | "wordcount" => {
                OperandKind::Number
            }
            "capitalize" | "center" | "e" | "escape" | "filesizeformat" | "forceescape"
            | "format" | "indent" | "join" | "lower" | "replace" | "string" | "striptags"
            | "title" | "tojson" | "trim" | "truncate" | "upper" | "urlencode" | "wordwrap" => {
                OperandKind::Text
            }
            "lines" | "split" => OperandKind::Texts,
            "list" | "reverse" | "sort" | "unique" => match value {
                OperandKind::Text if filter.name == "reverse" => OperandKind::Text,
                OperandKind::Text | OperandKind::Texts => OperandKind::Texts,
                _ => OperandKind::Unknown,
            },
            "first" | "last" | "max" | "min" => value.item(),
            // A value that is there stays as it is.
            "d" | "default" | "safe" => value,
            _ => OperandKind::Unknown,
        }
    }

    fn kind_of_call(&self, call: &Call<'_>) -> OperandKind {
        let CallType::Method(value, method) = call.identify_call() else {
            return OperandKind::Unknown;
        };
        if self.kind(value) != OperandKind::Text {
            return OperandKind::Unknown;
        }
        match method {
            "count" | "find" | "index" | "rfind" => OperandKind::Number,
            "capitalize" | "casefold" | "center" | "format" | "join" | "ljust" | "lower"
            | "lstrip" | "removeprefix" | "removesuffix" | "replace" | "rjust" | "rstrip"
            | "strip" | "swapcase" | "title" | "upper" | "zfill" => OperandKind::Text,
            "rsplit" | "split" | "splitlines" => OperandKind::Texts,
            _ => OperandKind::Unknown,
        }
    }
}

fn kind_of_operation(operation: BinOpKind, left: OperandKind, right: OperandKind) -> OperandKind {
    let is_text = left == OperandKind::Text || right == OperandKind::Text;
    match operation {
        BinOpKind::Concat => OperandKind::Text,
        BinOpKind::ScOr => left.or(right),
        BinOpKind::ScAnd => right,
        BinOpKind::Add | BinOpKind::Mul if is_text => OperandKind::Text,
        BinOpKind::Rem => left,
        BinOpKind::Add
        | BinOpKind::Sub
        | BinOpKind::Mul
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Pow
            if left == OperandKind::Number || right == OperandKind::Number =>
        {
            OperandKind::Number
        }
        _ => OperandKind::Unknown,
    }
}

/// How a name gets its value.
enum Binding<'t, 's> {
    /// An expression.
    Value(&'t Expr<'s>),
    /// The items of an expression in turn.
    Item(&'t Expr<'s>),
    /// The text of a block.
    Text,
    /// In another way.
    Other,
}

/// Reports every name that a statement gives a value, including those inside it.
fn bindings<'s>(tree: &Stmt<'s>, report: &mut dyn FnMut(&'s str, Binding<'_, 's>)) {
    match tree {
        Stmt::ForLoop(block) => bind(&block.target, Binding::Item(&block.iter), report),
        Stmt::WithBlock(block) => {
            for (target, value) in &block.assignments {
                bind(target, Binding::Value(value), report);
            }
        }
        Stmt::Set(set) => bind(&set.target, Binding::Value(&set.expr), report),
        Stmt::SetBlock(set) => {
            let is_plain = set.filter.is_none();
            let binding = if is_plain {
                Binding::Text
            } else {
                Binding::Other
            };
            bind(&set.target, binding, report);
        }
        Stmt::Macro(it) => {
            report(it.name, Binding::Other);
            for parameter in &it.args {
                bind(parameter, Binding::Other, report);
            }
        }
        Stmt::CallBlock(block) => {
            for parameter in &block.macro_decl.args {
                bind(parameter, Binding::Other, report);
            }
        }
        Stmt::Import(import) => bind(&import.name, Binding::Other, report),
        Stmt::FromImport(import) => {
            for (name, alias) in &import.names {
                bind(alias.as_ref().unwrap_or(name), Binding::Other, report);
            }
        }
        _ => {}
    }
    for inner in bodies(tree).into_iter().flatten() {
        bindings(inner, report);
    }
}

fn bind<'s>(
    target: &Expr<'s>,
    binding: Binding<'_, 's>,
    report: &mut dyn FnMut(&'s str, Binding<'_, 's>),
) {
    match target {
        Expr::Var(name) => report(name.id, binding),
        Expr::List(list) => {
            for item in &list.items {
                bind(item, Binding::Other, report);
            }
        }
        Expr::Tuple(tuple) => {
            for item in &tuple.items {
                bind(item, Binding::Other, report);
            }
        }
        _ => {}
    }
}

/// The statements inside a statement.
fn bodies<'t, 's>(tree: &'t Stmt<'s>) -> [&'t [Stmt<'s>]; 2] {
    match tree {
        Stmt::Template(it) => [&it.children, &[]],
        Stmt::ForLoop(it) => [&it.body, &it.else_body],
        Stmt::IfCond(it) => [&it.true_body, &it.false_body],
        Stmt::WithBlock(it) => [&it.body, &[]],
        Stmt::SetBlock(it) => [&it.body, &[]],
        Stmt::AutoEscape(it) => [&it.body, &[]],
        Stmt::FilterBlock(it) => [&it.body, &[]],
        Stmt::Block(it) => [&it.body, &[]],
        Stmt::Macro(it) => [&it.body, &[]],
        Stmt::CallBlock(it) => [&it.macro_decl.body, &[]],
        _ => [&[], &[]],
    }
}

/// Visits every expression of a statement, outer ones first.
fn statement<'s>(tree: &Stmt<'s>, visit: &mut dyn FnMut(&Expr<'s>)) {
    match tree {
        Stmt::EmitExpr(it) => expression(&it.expr, visit),
        Stmt::ForLoop(it) => {
            expression(&it.iter, visit);
            if let Some(condition) = &it.filter_expr {
                expression(condition, visit);
            }
        }
        Stmt::IfCond(it) => expression(&it.expr, visit),
        Stmt::WithBlock(it) => {
            for (_, value) in &it.assignments {
                expression(value, visit);
            }
        }
        Stmt::Set(it) => expression(&it.expr, visit),
        Stmt::SetBlock(it) => {
            if let Some(filter) = &it.filter {
                expression(filter, visit);
            }
        }
        Stmt::AutoEscape(it) => expression(&it.enabled, visit),
        Stmt::FilterBlock(it) => expression(&it.filter, visit),
        Stmt::Macro(it) => {
            for value in &it.defaults {
                expression(value, visit);
            }
        }
        Stmt::CallBlock(it) => call(&it.call, visit),
        Stmt::Do(it) => call(&it.call, visit),
        _ => {}
    }
    for inner in bodies(tree).into_iter().flatten() {
        statement(inner, visit);
    }
}

fn expression<'s>(tree: &Expr<'s>, visit: &mut dyn FnMut(&Expr<'s>)) {
    visit(tree);
    match tree {
        Expr::Var(_) | Expr::Const(_) => {}
        Expr::Slice(it) => {
            expression(&it.expr, visit);
            for part in [&it.start, &it.stop, &it.step].into_iter().flatten() {
                expression(part, visit);
            }
        }
        Expr::UnaryOp(it) => expression(&it.expr, visit),
        Expr::BinOp(it) => {
            expression(&it.left, visit);
            expression(&it.right, visit);
        }
        Expr::Compare(it) => {
            expression(&it.expr, visit);
            for operation in &it.ops {
                expression(&operation.expr, visit);
            }
        }
        Expr::IfExpr(it) => {
            expression(&it.test_expr, visit);
            expression(&it.true_expr, visit);
            if let Some(otherwise) = &it.false_expr {
                expression(otherwise, visit);
            }
        }
        Expr::Filter(it) => {
            if let Some(value) = &it.expr {
                expression(value, visit);
            }
            arguments(&it.args, visit);
        }
        Expr::Test(it) => {
            expression(&it.expr, visit);
            arguments(&it.args, visit);
        }
        Expr::GetAttr(it) => expression(&it.expr, visit),
        Expr::GetItem(it) => {
            expression(&it.expr, visit);
            expression(&it.subscript_expr, visit);
        }
        Expr::Call(it) => call(it, visit),
        Expr::List(it) => it.items.iter().for_each(|item| expression(item, visit)),
        Expr::Tuple(it) => it.items.iter().for_each(|item| expression(item, visit)),
        Expr::Map(it) => {
            it.keys.iter().for_each(|key| expression(key, visit));
            it.values.iter().for_each(|value| expression(value, visit));
        }
    }
}

fn call<'s>(call: &Call<'s>, visit: &mut dyn FnMut(&Expr<'s>)) {
    expression(&call.expr, visit);
    arguments(&call.args, visit);
}

fn arguments<'s>(arguments: &[CallArg<'s>], visit: &mut dyn FnMut(&Expr<'s>)) {
    for argument in arguments {
        match argument {
            CallArg::Pos(value)
            | CallArg::Kwarg(_, value)
            | CallArg::PosSplat(value)
            | CallArg::KwargSplat(value) => expression(value, visit),
        }
    }
}
