//! Tables of templates: what they render to, what is wrong with them, which language they are.

use serde_json::json;

use super::*;

mod go;
mod grammar;
mod paid;
mod prices;

fn data() -> TemplateData {
    let mut data = TemplateData::of(json!({
        "metadata": {"name": "east", "labels": {"a.b/c": "d"}},
        "spec": {"apiEndpoint": "https://east:6443?a=b&c=\"d\"", "insecure": true, "n": 3},
        "status": {"conditions": [
            {"type": "Synced", "status": "True"},
            {"type": "Ready", "status": "True"},
        ]},
    }));
    let secret = json!({"data": {"token": "YStiLz0=", "ca.crt": "Y2E="}});
    data.refer("secret", secret);
    data
}

fn compile(text: &str) -> Result<Template, TemplateError> {
    TemplateEngine::Handlebars.compile(text, Scope::References(&["secret"]))
}

fn render(text: &str) -> Result<String, TemplateError> {
    compile(text)?.render(&data())
}

/// As the page on labels of clusters shows it.
#[test]
fn what_a_policy_sets_counts_and_not_what_its_source_says() {
    let mut data = TemplateData::of(json!({
        "metadata": {"name": "east", "labels": {"env": "prod", "example.com/owner": "me", "example.com/tier": "house"}},
        "spec": {"region": "eu"},
    }));
    let owners = |lines: Value| json!({"data": lines});
    data.refer("owners", owners(json!({"east": "team-a"})));
    let page = include_str!("../../../../docs/cluster-labels.md");
    let begin = page.find("{{toJson").unwrap();
    let end = begin + page[begin..].find("}}").unwrap() + 2;
    let scope = Scope::References(&["owners"]);
    let template = TemplateEngine::Handlebars.compile(&page[begin..end], scope);
    let template = template.unwrap();
    let labels = |data: &TemplateData| {
        let labels = template.render(data).unwrap();
        serde_json::from_str::<Value>(&labels).unwrap()
    };
    let region = "topology.kubernetes.io/region";
    let expected = json!({"env": "prod", "example.com/owner": "team-a", "example.com/tier": "guest", region: "eu"});
    assert_eq!(labels(&data), expected);
    data.refer("owners", owners(json!({})));
    let expected = json!({"env": "prod", "example.com/tier": "guest", region: "eu"});
    assert_eq!(labels(&data), expected, "nobody's");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn handlebars_renders() {
    let table = [
        ("plain", "plain"),
        (
            "{{source.metadata.name}}-{{this.source.metadata.name}}",
            "east-east",
        ),
        (
            "{{source.spec.apiEndpoint}}",
            "https://east:6443?a=b&c=\"d\"",
        ),
        (
            "{{{source.spec.apiEndpoint}}}",
            "https://east:6443?a=b&c=\"d\"",
        ),
        (
            "{{toJson source.spec.apiEndpoint}}",
            "\"https://east:6443?a=b&c=\\\"d\\\"\"",
        ),
        ("[{{source.spec.nope.deeper}}]", "[]"),
        ("{{references.secret.data.token}}", "YStiLz0="),
        ("{{b64dec references.secret.data.token}}", "a+b/="),
        ("{{b64enc \"a+b/=\"}}", "YStiLz0="),
        ("{{references.secret.data.[ca.crt]}}", "Y2E="),
        ("{{lookup source.metadata.labels \"a.b/c\"}}", "d"),
        ("{{get source.metadata.labels \"a.b/c\"}}", "d"),
        ("{{hasKey source.metadata.labels \"x\"}}", "false"),
        ("{{default \"none\" source.spec.nope}}", "none"),
        ("{{default \"none\" source.metadata.name}}", "east"),
        (
            "{{eq source.metadata.name \"east\"}} {{ne source.spec.nope \"\"}}",
            "true true",
        ),
        ("{{trim \"  a \"}}{{lower \"B\"}}{{upper \"c\"}}", "abC"),
        (
            "{{trimPrefix \"ea\" source.metadata.name}}{{trimSuffix \"st\" \"best\"}}",
            "stbe",
        ),
        ("{{replace \"a\" \"o\" \"banana\"}}", "bonono"),
        (
            "{{hasPrefix \"ea\" \"east\"}} {{hasSuffix \"st\" \"east\"}}",
            "true true",
        ),
        ("{{contains \"as\" source.metadata.name}}", "true"),
        ("{{toJson source.spec.nope}}", "null"),
        ("{{hasCondition source \"Ready\" \"True\"}}", "true"),
        ("{{hasCondition source \"Ready\" \"False\"}}", "false"),
        (
            "{{hasCondition references.secret \"Ready\" \"True\"}}",
            "false",
        ),
        (
            "{{and source.spec.nope (hasCondition source \"Ready\" \"True\")}}",
            "false",
        ),
        ("{{#if source.spec.insecure}}yes{{else}}no{{/if}}", "yes"),
        ("{{#if (eq source.spec.n 3)}}three{{/if}}", "three"),
        (
            "{{#each source.status.conditions}}{{type}},{{/each}}",
            "Synced,Ready,",
        ),
        (
            "{{#each source.status.conditions as |c|}}{{c.status}}{{@index}}{{/each}}",
            "True0True1",
        ),
        (
            "{{#each source.metadata.labels}}{{@key}}={{this}}{{/each}}",
            "a.b/c=d",
        ),
        (
            "{{#with references.secret}}{{data.token}}{{../source.metadata.name}}{{/with}}",
            "YStiLz0=east",
        ),
        ("{{! .source | x }}a{{!-- {{ .b }} --}}b", "ab"),
    ];
    for (text, expected) in table {
        assert_eq!(render(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_wrong_is_said_with_its_place_and_without_values() {
    let table = [
        (
            "a\n {{nope}}",
            "line 2, column 2: nope is unknown: a path begins with source or references",
        ),
        (
            "{{printf \"x\"}}",
            "line 1, column 1: printf is no function that templates have",
        ),
        (
            "{{b64dec (frob source.a)}}",
            "line 1, column 1: frob is no function that templates have",
        ),
        (
            "{{index source.a \"b\"}}",
            "line 1, column 1: index is no function that templates have",
        ),
        (
            "{{if source}}x{{end}}",
            "line 1, column 1: if needs a block: {{#if ...}} ... {{/if}}",
        ),
        (
            "{{#range source}}{{/range}}",
            "line 1, column 1: #range is no block; there are each, if, unless, with",
        ),
        (
            "{{#each source}}{{end}}{{/each}}",
            "line 1, column 17: end is Go template syntax; write this.end if a field is meant",
        ),
        (
            "{{references.secrt.data}}",
            "line 1, column 1: no reference has the key secrt",
        ),
        (
            "{{log source}}",
            "line 1, column 1: log is no function that templates have",
        ),
        (
            "{{> other}}",
            "line 1, column 1: partials and decorators are not offered",
        ),
        (
            "{{#*inline \"a\"}}x{{/inline}}",
            "line 1, column 1: partials and decorators are not offered",
        ),
        (
            "{{b64dec source.spec.apiEndpoint}}",
            "b64dec: the argument is not base64",
        ),
        (
            "{{b64dec}}",
            "b64dec is unknown: a path begins with source or references",
        ),
        (
            "{{trim source.metadata source}}",
            "trim: is called as trim text",
        ),
        ("{{trim source.metadata}}", "trim: an argument is not text"),
        (
            "{{source.metadata}}",
            "an object is printed as text: use toJson",
        ),
        (
            "{{required \"spec.region is empty\" source.spec.region}}",
            "required: spec.region is empty",
        ),
        (
            "{{required source.spec.apiEndpoint source.spec.region}}",
            "required: its message is put together from values, which are not told: write the message in quotes",
        ),
        (
            "{{required (b64dec references.secret.data.token) \"\"}}",
            "required: its message is put together from values, which are not told: write the message in quotes",
        ),
    ];
    for (text, expected) in table {
        let error = render(text).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{text}\n  {error}\n  {expected}");
        assert!(!error.contains("east:6443"), "{error}");
    }
}

#[test]
fn syntax_errors_have_a_place() {
    for (text, line) in [("{{#if source}}", 1), ("\n\n{{source.}}", 3), ("a\n{{", 2)] {
        let Err(TemplateError::Syntax { line: at, .. }) = compile(text) else {
            panic!("{text} compiles");
        };
        assert_eq!(at, line, "{text}");
    }
}

#[test]
fn references_are_unknown_where_they_are_not_read_yet() {
    let compiled = TemplateEngine::Handlebars.compile("{{references.secret}}", Scope::Source);
    assert!(
        compiled
            .unwrap_err()
            .to_string()
            .contains("only source is known")
    );
}

#[test]
fn templates_results_and_nesting_are_limited() {
    assert_eq!(
        compile(&"x".repeat(TEMPLATE_LIMIT + 1)).unwrap_err(),
        TemplateError::TooLong
    );
    let items = json!({"items": vec!["x".repeat(1000); OUTPUT_LIMIT / 1000 + 1]});
    let long = TemplateData::of(items);
    let template = compile("{{#each source.items}}{{this}}{{/each}}").unwrap();
    assert_eq!(template.render(&long), Err(TemplateError::OutputTooLong));
    let deep = format!("{}{}", "{{#if source}}".repeat(40), "{{/if}}".repeat(40));
    assert!(
        compile(&deep)
            .unwrap_err()
            .to_string()
            .contains("nested too deep")
    );
}

/// Text in which `text` stands so many times inside itself.
fn nested(open: &str, inmost: &str, close: &str, times: usize) -> String {
    format!("{}{inmost}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn errors_in_an_each_keep_their_place() {
    let data = TemplateData::of(json!({"items": [1]}));
    let template = compile("{{#each source.items}}\n\n  {{trim @root.source}}{{/each}}").unwrap();
    assert_eq!(
        template.render(&data).unwrap_err().to_string(),
        "line 3, column 3: trim: an argument is not text"
    );
}

#[test]
fn what_would_be_parsed_for_minutes_is_refused_unparsed() {
    let refused = |text: &str| compile(text).unwrap_err().to_string();
    let deep = "blocks are nested too deep";
    let cases = format!(
        "{{{{#if source}}}}{}{{{{/if}}}}",
        "{{else if source}}".repeat(3000)
    );
    assert!(refused(&cases).ends_with(deep));
    assert!(refused(&nested("{{#if source}}", "", "{{/if}}", 2500)).ends_with(deep));
    let refused = refused(&"{{source.a}}\n".repeat(TAG_LIMIT + 1));
    assert_eq!(
        refused,
        "line 1001, column 1: a template has no more than 1000 tags"
    );
    // Neither comments nor blocks beside each other are deep.
    let flat = "{{#if source}}{{else if source}}{{else}}{{/if}}{{! #if }}".repeat(200);
    assert!(compile(&flat).is_ok());
}

#[test]
fn values_are_compared_as_handlebars_compares_them() {
    for (call, expected) in [
        ("gt 5 3", "true"),
        ("gt 3 5", "false"),
        ("gt 3 3", "false"),
        ("gte 3 3", "true"),
        ("lt -1 0.5", "true"),
        ("lte 2 1", "false"),
        ("lt \"a\" \"b\"", "true"),
        ("gt 10 \"9\"", "true"),
        ("lt \"9\" 10", "true"),
        ("lt true 10", "false"),
        ("gte \"x\" 10", "false"),
        ("eq 5 \"5\"", "false"),
        ("eq [5] [5]", "true"),
        ("ne [5] [4]", "true"),
        ("lookup [7,8] 1", "8"),
        ("lookup [7,8] 2", ""),
        ("lookup \"text\" 0", ""),
    ] {
        assert_eq!(
            render(&format!("{{{{{call}}}}}")).as_deref(),
            Ok(expected),
            "{call}"
        );
    }
}

#[test]
fn a_condition_is_true_after_trim_and_in_any_case() {
    for (text, expected) in [
        ("true", true),
        (" \n TRUE\n", true),
        ("true true", false),
        ("", false),
    ] {
        assert_eq!(
            compile(text).unwrap().says_true(&data()),
            Ok(expected),
            "{text:?}"
        );
    }
}

#[test]
fn go_templates_are_recognised() {
    let table = [
        "{{ .source.metadata.name }}",
        "{{.source.metadata.name}}",
        "{{ . }}",
        "karmada-{{ b64dec .source.x }}",
        "{{ eq (index .source \"a.b\") \"x\" }}",
        "{{ if source }}x{{ end }}",
        "{{ if eq source.a }}x{{ end }}",
        "x{{ end }}",
        "{{ range $k, $v := .source }}{{ end }}",
        "{{ with $x }}{{ end }}",
        "{{define \"x\"}}{{end}}",
        "{{ $name := \"a\" }}",
        "{{ $name }}",
        "{{ eq $a \"b\" }}",
        "{{ \"YQ==\" | b64dec }}",
        "{{- \"a\" -}}",
        "{{- source }}",
        "{{ source -}}",
        "{{/* a comment */}}",
        "{{- /* a comment */ -}}",
        "{{ `raw` }}",
        "{{\n  and\n    (hasKey .source.data \"x\")\n}}",
        "{{! handlebars }}{{ .go }}",
        "{{ printf \"}}\" .x }}",
    ];
    for text in table {
        assert!(go_syntax::shows(text), "{text}");
    }
}

#[test]
fn handlebars_is_not_taken_for_go() {
    let table = [
        "no action at all .source | $x :=",
        "{{source.metadata.name}}",
        "{{ source.metadata.name }}",
        "{{./source.metadata.name}}",
        "{{#each source.x}}{{../source.y}}{{/each}}",
        "{{~source.x~}}",
        "{{{source.x}}}",
        "{{&source.x}}",
        "{{#if (eq source.a \"b\")}}x{{else if source.c}}y{{else}}z{{/if}}",
        "{{#each source.items as |item|}}{{item.x}}{{/each}}",
        "{{#each source.items as | item index |}}{{item.x}}{{/each}}",
        "{{b64dec \".source | $x := `\"}}",
        "{{get source.labels '.x'}}",
        "{{!-- {{ .source | b64dec }} --}}",
        "{{! .source }}",
        "{{lookup source.a \"-\"}}",
        "{{source.a-b}}",
    ];
    for text in table {
        assert!(!go_syntax::shows(text), "{text}");
    }
}

#[test]
fn the_engine_is_the_one_named_else_the_one_written() {
    let go = [
        ("nameTemplate", "{{source.x}}"),
        ("template", "\n  {{ .source.x }}"),
    ];
    let choose = |named, templates: &[(&'static str, &'static str)]| {
        TemplateEngine::choose(named, templates.iter().copied())
    };
    assert_eq!(choose(None, &go), TemplateEngine::GoTemplate);
    assert_eq!(choose(None, &go[..1]), TemplateEngine::Handlebars);
    let long = format!("{{{{ .go }}}}{}", "x".repeat(TEMPLATE_LIMIT));
    let long = choose(None, &[("template", &*long.leak())]);
    assert_eq!(long, TemplateEngine::Handlebars, "it is refused unread");
    let named = choose(Some(TemplateEngineName::Handlebars), &go);
    assert_eq!(named, TemplateEngine::Handlebars);
    let named = choose(
        Some(TemplateEngineName::GoTemplate),
        &[("nameTemplate", "plain")],
    );
    assert_eq!(named, TemplateEngine::GoTemplate);
}

#[test]
fn the_readme_of_the_policies_lists_every_function() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policies");
    let text = std::fs::read_to_string(path.join("README.md")).unwrap();
    for Function {
        name,
        arguments,
        gives,
        ..
    } in FUNCTIONS
    {
        let line = format!("| `{name} {}` | {gives} |", arguments.join(" "));
        assert!(text.contains(&line), "{line}");
    }
}

/// As long as the parser and everything that walks over what it made call themselves, a template that nests deeper could end the process.
#[test]
fn what_stands_in_each_other_in_a_tag_is_bounded() {
    let nested = |depth: usize| {
        let (open, close) = ("(lower ".repeat(depth), ")".repeat(depth));
        format!("{{{{lower {open}source.metadata.name{close}}}}}")
    };
    assert_eq!(render(&nested(32)).as_deref(), Ok("east"));
    let deep = nested(7000);
    let hidden = [
        deep.clone(),
        nested(33),
        // What would hide the nesting from who only looks for braces and quotes.
        format!("{{{{source.[}}}}{{{{\"]}}}}{deep}"),
        format!("{{{{! -- }}}}{{{{\" --}}}}{deep}"),
        // A list for others, and for the parser a name that ends within its text.
        format!("{{{{lookup [\"]}}}}{deep}\", 1e5] 0}}}}"),
        format!("{{{{lookup source.[\"]}}}}{deep}\"] 0}}}}"),
        format!("{{{{[\"]}}}}{deep}\"]}}}}"),
        format!("{{{{> 'a\\\\'}}}}{{{{\"'}}}}{deep}"),
        format!("\\{{{{ ' }}}} {deep}"),
        format!("{{{{!-- }}}} {deep}"),
        format!("{{{{!--}}}} {{{{ ' --}}}} {deep}"),
        format!("{{{{{{{{if source}}}}}}}} {{{{ ' {{{{{{{{/if}}}}}}}} {deep}"),
        format!("{{{{lookup source.[it's] {}", &deep[2..]),
        format!("{{{{toJson {{\"a\": {{}}}} {}", &deep[2..]),
        format!("{{{{toJson {}1{}}}}}", "[".repeat(7000), "]".repeat(7000)),
        format!(
            "{{{{toJson {}1{}}}}}",
            "{\"a\":".repeat(7000),
            "}".repeat(7000)
        ),
    ];
    for text in hidden {
        let error = compile(&text).map(drop).unwrap_err();
        let shown: String = text.chars().take(60).collect();
        assert!(
            matches!(error, TemplateError::Meaning { .. }),
            "{shown}: {error}"
        );
    }
    for open in [
        "{{source.[a}}",
        "{{lower \"a}}",
        "a {{",
        "{{! a",
        "{{!-- a }",
    ] {
        let text = format!("{open}{}", &deep[2..]).replace("}}", "");
        let found = compile(&text).map(drop);
        assert!(matches!(found, Err(TemplateError::Syntax { .. })), "{open}");
    }
    assert_eq!(render("\\{{ ' a").as_deref(), Ok("{{ ' a"));
    assert_eq!(
        render("{{toJson [1, \"a\", \"]\"]}}").as_deref(),
        Ok("[1,\"a\",\"]\"]")
    );
}
