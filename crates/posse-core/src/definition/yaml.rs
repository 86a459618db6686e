//! The strict YAML 1.2 reader: a block of text to a tree with spans, within small limits.
//!
//! Anchors, aliases, tags and merges are refused: no agent file uses them on purpose, and they are
//! how YAML bombs are made. Recovery of broken blocks is not here.

use granit_parser::{Event, Options, Parser, ScalarStyle};

use super::node::{DEPTH_MAX, Entry, Node, NodeValue, Scalar};
use crate::diagnostic::Span;

const NODES_MAX: usize = 10_000;

/// Why a block is not strict YAML, and where it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    /// What is wrong.
    pub message: String,
    /// Byte in the text.
    pub offset: usize,
    /// True when the text uses an anchor, alias or tag, which stand for something that is not here.
    pub is_reference: bool,
}

impl YamlError {
    /// An error in the text itself.
    pub fn new(message: impl Into<String>, offset: usize) -> YamlError {
        YamlError { message: message.into(), offset, is_reference: false }
    }
}

/// Reads one YAML document that stands `base` bytes into the text its spans are to count from.
pub fn parse(block: &str, base: usize) -> Result<Node, YamlError> {
    let mut options = Options::default();
    options.disallow_directives = true;
    options.emit_unresolved_aliases = true;
    let mut parser = Parser::new_from_str_with_options(block, options);
    let mut tree = Tree { open: Vec::new(), root: None, nodes: 0 };
    while let Some(next) = parser.next_event() {
        match next {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or(0..0);
                let start = range.start.min(block.len());
                let end = range.end.clamp(start, block.len());
                tree.take(event, Span::new(base + start, base + end))?;
            }
            Err(error) => {
                let offset = base + error.marker().byte_offset().unwrap_or(0).min(block.len());
                return Err(YamlError::new(error.kind().to_string(), offset));
            }
        }
    }
    Ok(tree.root.unwrap_or(Node { span: Span::new(base, base), value: NodeValue::Scalar(Scalar::plain("")) }))
}

/// The collections that are open, innermost last.
struct Tree {
    open: Vec<Open>,
    root: Option<Node>,
    nodes: usize,
}

struct Open {
    start: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<(String, Span)> },
}

impl Tree {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                refuse_properties(anchor, tag.is_some(), span)?;
                let scalar = match style {
                    ScalarStyle::Plain => Scalar::plain(text),
                    _ => Scalar::text(text),
                };
                self.add(Node { span, value: NodeValue::Scalar(scalar) })
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_properties(anchor, tag.is_some(), span)?;
                self.open(span.start, Items::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_properties(anchor, tag.is_some(), span)?;
                self.open(span.start, Items::Map { entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span.end),
            Event::Alias(_) | Event::UnresolvedAlias(_) | Event::Anchor(..) => Err(refused(span)),
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(YamlError::new("a second document starts here", span.start))
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, start: usize, items: Items) -> Result<(), YamlError> {
        if self.open.len() >= DEPTH_MAX {
            return Err(YamlError::new(format!("nested deeper than {DEPTH_MAX} levels"), start));
        }
        self.open.push(Open { start, items });
        Ok(())
    }

    fn close(&mut self, end: usize) -> Result<(), YamlError> {
        let Some(open) = self.open.pop() else {
            return Err(YamlError::new("a collection ends that was not open", end));
        };
        let value = match open.items {
            Items::List(elements) => NodeValue::List(elements),
            Items::Map { entries, .. } => NodeValue::Map(entries),
        };
        self.add(Node { span: Span::new(open.start, end.max(open.start)), value })
    }

    fn add(&mut self, node: Node) -> Result<(), YamlError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(YamlError::new(format!("more than {NODES_MAX} values"), node.span.start));
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(node),
            Some(Items::List(elements)) => elements.push(node),
            Some(Items::Map { entries, key }) => match key.take() {
                Some((text, key_span)) => entries.push(Entry { key: text, key_span, value: node }),
                None => match node.value {
                    NodeValue::Scalar(scalar) => *key = Some((scalar.text, node.span)),
                    _ => {
                        return Err(YamlError::new("a list or mapping as a key", node.span.start));
                    }
                },
            },
        }
        Ok(())
    }
}

fn refuse_properties(anchor: usize, tagged: bool, span: Span) -> Result<(), YamlError> {
    if anchor != 0 || tagged { Err(refused(span)) } else { Ok(()) }
}

fn refused(span: Span) -> YamlError {
    let error = YamlError::new("anchors, aliases and tags are not read", span.start);
    YamlError { is_reference: true, ..error }
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn check(block: &str, json: &str) {
        let node = parse(block, 0).expect("valid YAML");
        assert_eq!(node.to_json().to_string(), json);
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        check(
            "a: 1\nb: yes\nc: true\nd: 1.5\ne: ~\nf:\ng: \"1\"\nh: 0x1f",
            r#"{"a":1,"b":"yes","c":true,"d":1.5,"e":null,"f":null,"g":"1","h":31}"#,
        );
    }

    #[test]
    fn lists_and_mappings_nest() {
        check("a: [x, {y: z}]\nb:\n  - 1\n  - c: d\n", r#"{"a":["x",{"y":"z"}],"b":[1,{"c":"d"}]}"#);
    }

    #[test]
    fn spans_are_the_source_of_the_value() {
        let block = "é: ü\ntools: [Read, Grpe]\n";
        let node = parse(block, 0).expect("valid YAML");
        let tools = &node.entries().expect("mapping")[1].value;
        let grpe = &tools.elements().expect("list")[1];
        assert_eq!(&block[grpe.span.start..grpe.span.end], "Grpe");
        assert_eq!(&block[tools.span.start..tools.span.end], "[Read, Grpe]");
    }

    #[test]
    fn anchors_aliases_and_tags_are_refused() {
        for block in ["a: &x 1\nb: *x\n", "a: !!str 1\n", "a: &x [b]\n", "<<: *x\n"] {
            assert!(parse(block, 0).is_err(), "{block}");
        }
    }

    #[test]
    fn depth_and_size_have_limits() {
        assert!(parse(&"[".repeat(1000), 0).is_err());
        let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert!(parse(&nested, 0).is_err());
        assert!(parse(&format!("[{}]", "1,".repeat(20_000)), 0).is_err());
    }
}
