//! The output contract: an answer that fits, one that does not, and one that never does.

use expect_test::expect;
use posse_testkit::Reply;
use serde_json::{Value, json};

use crate::lab::{CLAUDE, Lab, said, system, value};

const SCHEMA: &str = "output:
  schema:
    type: object
    required: [count]
    properties:
      count: {type: integer}
      name: {type: string}
  retries: 2
";

fn lab(answers: &[&str]) -> Lab {
    let lab = Lab::new(answers.iter().map(|answer| Reply::text(answer)).collect());
    lab.agent(&format!("model: {CLAUDE}\n{SCHEMA}"));
    lab
}

fn run(lab: &Lab) -> (Value, i32) {
    let finished = lab.run(&["run", "helper", "Count.", "--json"]);
    (value(&finished), finished.code)
}

#[test]
fn an_answer_that_fits_is_the_output() {
    for answer in ["{\"count\": 3}", "Here it is:\n```json\n{\"count\": 3}\n```", "\n {\"count\": 3}\n"] {
        let lab = lab(&[answer]);
        let (run, code) = run(&lab);
        assert_eq!((code, &run["output"]), (0, &json!({"count": 3})), "{answer}");
        assert_eq!(run["result"], json!(answer));
        let blocks = system(&lab.server.requests()[0]);
        assert!(
            blocks.last().is_some_and(|block| block.contains("\"count\"")),
            "the model is told: {blocks:?}"
        );
    }
}

#[test]
fn an_answer_that_does_not_fit_comes_back_with_its_errors() {
    let lab = lab(&["three", "{\"count\": \"three\"}", "{\"count\": 3}"]);
    let (run, code) = run(&lab);
    assert_eq!((code, &run["output"], &run["turns"]), (0, &json!({"count": 3}), &json!(3)));
    let requests = lab.server.requests();
    let told: Vec<String> = requests[1..].iter().filter_map(|request| said(request).pop()).collect();
    expect![[r#"
        [Your answer does not fit the schema:
        - the answer is not one JSON value: expected ident at line 1 column 2
        Answer again with one JSON value that fits it, and nothing else.]
        ---
        [Your answer does not fit the schema:
        - /count: "three" is not of type "integer"
        Answer again with one JSON value that fits it, and nothing else.]"#]]
    .assert_eq(&told.join("\n---\n"));
}

#[test]
fn an_answer_that_never_fits_is_a_failure_with_the_best_attempt() {
    let best = "{\"count\": \"three\"}";
    let lab = lab(&["three", best, "{\"name\": 3}"]);
    let (run, code) = run(&lab);
    assert_eq!(lab.server.requests().len(), 3);
    assert_eq!((code, &run["status"], &run["output"]), (4, &json!("failed"), &Value::Null));
    assert_eq!(run["result"], json!(best));
    expect![[r#"
        {
          "kind": "output",
          "message": "the answer does not fit the output schema: /count: \"three\" is not of type \"integer\"",
          "help": null
        }
    "#]]
    .assert_eq(&format!("{:#}\n", run["error"]));
}
