//! Go templates: what they render to, what is wrong with them, what they read and what they are stopped for. That it is what Go does
//! is for `tests/go_templates.rs` to say.

use super::*;
use crate::template::{functions::FUNCTIONS, rules::RUN_DEPTH_LIMIT};

fn compile_go(text: &str) -> Result<Template, TemplateError> {
    TemplateEngine::GoTemplate.compile(text, Scope::References(&["secret"]))
}

fn render_go(text: &str) -> Result<String, TemplateError> {
    compile_go(text)?.render(&data())
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn go_templates_render() {
    let table = [
        ("plain }} text", "plain }} text"),
        ("{{ .source.metadata.name }}", "east"),
        // Never escaped: no `+`, `&` and `"` is another sign afterwards.
        (
            "{{ .source.spec.apiEndpoint }}",
            "https://east:6443?a=b&c=\"d\"",
        ),
        ("{{ b64dec .references.secret.data.token }}", "a+b/="),
        (
            "{{ index .references.secret.data \"ca.crt\" | b64dec }}",
            "ca",
        ),
        (
            "[{{ .source.spec.nope.deeper }}{{ default \"\" nil }}]",
            "[]",
        ),
        (
            "{{ .source.spec.n }} {{ .source.spec }}",
            "3 map[apiEndpoint:https://east:6443?a=b&c=\"d\" insecure:true n:3]",
        ),
        (
            "{{ ne .source.spec.nope \"\" }} {{ eq .source.spec.nope \"\" }}",
            "true false",
        ),
        ("a  {{- /* comment */ -}}  b{{- 3 -}} c", "ab3c"),
        (
            "{{ range .source.status.conditions }}{{ if eq .type \"Ready\" }}{{ .status }}{{ end }}{{ end }}",
            "True",
        ),
        (
            "{{ range $i, $c := .source.status.conditions }}{{ $i }}{{ $c.type }}{{ break }}{{ end }}",
            "0Synced",
        ),
        (
            "{{ range 2 }}{{ range list }}{{ else }}{{ break }}{{ end }}{{ . }}{{ end }}",
            "01",
        ),
        (
            "{{ define \"x\" }}<{{ . }}>{{ end }}{{ template \"x\" .source.metadata.name }}{{ block \"y\" 1 }}{{ . }}{{ end }}",
            "<east>1",
        ),
        (
            "{{ $a := 1 }}{{ if true }}{{ $a = 2 }}{{ $b := 3 }}{{ end }}{{ $a }}",
            "2",
        ),
        (
            "{{ with .source.nope }}a{{ else with .source.spec }}{{ .n }}{{ else }}c{{ end }}",
            "3",
        ),
        (
            "{{ printf \"%-6q|%05d|%v\" \"a\" 42 (list 1 nil \"x\") }}",
            "\"a\"   |00042|[1 <nil> x]",
        ),
        (
            "{{ .source.metadata.labels | toJson }}",
            "{\"a.b/c\":\"d\"}",
        ),
        (
            "{{ trimPrefix \"ea\" .source.metadata.name | upper | repeat 2 }}",
            "STST",
        ),
        (
            "{{ b64dec \"no base64\" }}",
            "illegal base64 data at input byte 2",
        ),
        ("x<no value>y", "xy"),
        (
            "{{ title \"ǆa\" }}{{ upper \"ᾳß\" }}{{ swapcase \"ǅ ǆ\" }}",
            "ǅaᾼßǆ ǅ",
        ),
        ("{{ float64 \"0x1p-2\" }} {{ 0x1.8p1 }}", "0.25 3"),
    ];
    for (text, expected) in table {
        assert_eq!(render_go(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_wrong_with_a_go_template_is_said_with_its_place_and_without_values() {
    let table = [
        (
            "a\n {{ nope .source }}",
            "line 2, column 5: nope is no function that Go templates have",
        ),
        (
            "{{ source.a }}",
            "line 1, column 4: source is no function that Go templates have: write .source",
        ),
        (
            "{{ env \"HOME\" }}",
            "line 1, column 4: env is not offered: it reads the environment of the process",
        ),
        (
            "{{ now }}",
            "line 1, column 4: now is not offered: what it gives depends on the time or the time zone",
        ),
        (
            "{{ genCA \"a\" 1 }}",
            "line 1, column 4: genCA is not offered: templates make no keys and no certificates",
        ),
        (
            "{{ if .source.a }}",
            "line 1, column 19: a block is not closed",
        ),
        ("a{{ end }}", "line 1, column 2: unexpected end"),
        ("{{ break }}", "line 1, column 4: break stands in no range"),
        (
            "{{ range 2 }}{{ end }}{{ continue }}",
            "line 1, column 26: continue stands in no range",
        ),
        ("{{ $x }}", "line 1, column 4: the variable $x is unknown"),
        ("{{ .source.a", "line 1, column 13: an action is not closed"),
        ("{{ \"a }}", "line 1, column 4: a string is not closed"),
        ("{{ (1 }}", "line 1, column 7: a parenthesis is not closed"),
        (
            "{{#if source}}x{{/if}}",
            "line 1, column 3: # does not belong here",
        ),
        (
            "{{ template \"x\" }}",
            "line 1, column 13: the template x is not defined",
        ),
        (
            "{{ upper }}",
            "line 1, column 4: upper takes 1 arguments, and not 0",
        ),
        (
            "{{ .source.a | hasKey .source \"a\" }}",
            "line 1, column 16: hasKey takes 2 arguments, and not 3",
        ),
        (
            "{{ .references.secrt.data }}",
            "line 1, column 4: no reference has the key secrt",
        ),
        (
            "{{ .sorce.a }}",
            "line 1, column 4: .sorce is unknown: a path begins with .source or .references",
        ),
        (
            "{{ range .source.a }}{{ $.sorce.a }}{{ end }}",
            "line 1, column 25: .sorce is unknown: a path begins with .source or .references",
        ),
        (
            "{{ $.references.nokey.data }}",
            "line 1, column 4: no reference has the key nokey",
        ),
        (
            "{{ $ := .source }}",
            "line 1, column 4: $ is what the template is rendered over: to set it is not offered",
        ),
        // These depend on the source object.
        (
            "{{ upper .source.spec.n }}",
            "line 1, column 10: upper: an argument is an integer, and not text",
        ),
        (
            "{{ b64dec .source.nope }}",
            "line 1, column 11: b64dec: an argument is not there, and not text",
        ),
        (
            "{{ .source.metadata.name.deeper }}",
            "line 1, column 4: what is text has no field deeper",
        ),
        (
            "{{ lt .source.metadata.name 1 }}",
            "line 1, column 4: lt: values of these kinds are not compared",
        ),
        (
            "{{ index .source.status.conditions 7 }}",
            "line 1, column 4: index: the place is not in it",
        ),
        (
            "{{ fail \"spec.region is empty\" }}",
            "line 1, column 4: fail: spec.region is empty",
        ),
        (
            "{{ fail .source.metadata.name }}",
            "line 1, column 4: fail: its message is put together from values, which are not told: write the message in quotes",
        ),
        (
            "{{ b64dec .references.secret.data.token | fail }}",
            "line 1, column 43: fail: its message is put together from values, which are not told: write the message in quotes",
        ),
    ];
    for (text, expected) in table {
        let error = render_go(text).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
        assert!(!error.contains("east"), "{error}");
    }
}

#[test]
fn references_are_unknown_to_a_go_template_where_they_are_not_read_yet() {
    let compiled = TemplateEngine::GoTemplate.compile("{{ .references.secret }}", Scope::Source);
    let error = compiled.unwrap_err().to_string();
    assert!(error.contains("only source is known"), "{error}");
}

#[test]
fn functions_of_both_languages_give_the_same() {
    let data = TemplateData::of(json!({"t": "a,b", "n": 7, "e": "", "m": {"k": "v"}}));
    let table = [
        ("b64enc source.t", "b64enc .source.t"),
        ("b64dec \"YSs=\"", "b64dec \"YSs=\""),
        ("contains \",\" source.t", "contains \",\" .source.t"),
        ("default \"x\" source.e", "default \"x\" .source.e"),
        ("eq source.n 7", "eq .source.n 7"),
        ("ne source.t \"\"", "ne .source.t \"\""),
        ("get source.m \"k\"", "get .source.m \"k\""),
        ("get source.m \"none\"", "get .source.m \"none\""),
        ("hasKey source.m \"k\"", "hasKey .source.m \"k\""),
        ("hasPrefix \"a\" source.t", "hasPrefix \"a\" .source.t"),
        ("hasSuffix \"a\" source.t", "hasSuffix \"a\" .source.t"),
        ("lookup source.m \"k\"", "index .source.m \"k\""),
        ("gt source.n 6", "gt .source.n 6"),
        ("lower \"AB\"", "lower \"AB\""),
        ("upper source.t", "upper .source.t"),
        (
            "replace \"a\" \"b\" source.t",
            "replace \"a\" \"b\" .source.t",
        ),
        ("toJson source.m", "toJson .source.m"),
        ("trim \" a \"", "trim \" a \""),
        ("trimPrefix \"a\" source.t", "trimPrefix \"a\" .source.t"),
        ("trimSuffix \"b\" source.t", "trimSuffix \"b\" .source.t"),
        ("len source.t", "len .source.t"),
    ];
    for (handlebars, go) in table {
        let one = compile(&format!("{{{{{handlebars}}}}}")).unwrap();
        let other = compile_go(&format!("{{{{{go}}}}}")).unwrap();
        assert_eq!(one.render(&data), other.render(&data), "{go}");
    }
    // Who adds one to the functions of Handlebars says here what it is for Go.
    let alike = table.map(|(handlebars, _)| handlebars.split(' ').next().unwrap());
    let others = [
        "carriedLabels",
        "carriedTaints",
        "gte",
        "lt",
        "lte",
        "hasCondition",
        "required",
        "setLabel",
        "withLabel",
        "withLabels",
    ];
    for function in FUNCTIONS {
        let known = alike.contains(&function.name) || others.contains(&function.name);
        assert!(known, "{}", function.name);
    }
}

fn sees(template: &str, one: &Value, other: &Value) -> bool {
    let reads = compile_go(template).unwrap().reads().clone();
    reads.digest(one) != reads.digest(other)
}

#[test]
fn what_a_go_template_reads_is_seen_and_nothing_else() {
    let before = json!({"metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {"url": "x", "list": [{"a": 1}]}, "status": {"beat": 1}});
    let mut beat = before.clone();
    beat["status"]["beat"] = json!(2);
    let blind = [
        "text {{/* .source */}}",
        "{{ .source.spec.url }}{{ $.source.metadata.name }}",
        "{{ if .source.spec.url }}{{ toJson .source.spec.list }}{{ else }}{{ .source.spec.none }}{{ end }}",
        "{{ range $k, $v := .source.metadata.labels }}{{ $k }}{{ $v }}{{ . }}{{ $.source.spec.url }}{{ end }}",
        "{{ with .source.spec }}{{ .url }}{{ .status.beat }}{{ end }}{{ .references.secret.data.x }}",
        "{{ $s := .source.spec }}{{ $s.url }}{{ index .source.metadata.labels \"a\" | upper }}",
        "{{ define \"x\" }}{{ .url }}{{ $.url }}{{ end }}{{ template \"x\" .source.spec }}",
        "{{ (index .source.spec.list 0).a }}",
    ];
    for template in blind {
        assert!(!sees(template, &before, &beat), "{template}");
    }
    let seeing = [
        "{{ .source.status.beat }}",
        "{{ toJson .source }}",
        "{{ . }}",
        "{{ $ }}",
        "{{ (.source).status.beat }}",
        "{{ with .source.status }}{{ .beat }}{{ end }}",
        "{{ range .source.spec.list }}{{ $.source.status.beat }}{{ end }}",
        "{{ $s := .source }}{{ $s.status.beat }}",
        "{{ $s := . }}{{ $s.source.status.beat }}",
        "{{ index .source \"status\" \"beat\" }}",
        "{{ .source.spec.url | printf \"%v%v\" .source.status.beat }}",
        "{{ define \"x\" }}{{ .source.status.beat }}{{ end }}{{ template \"x\" . }}",
        "{{ if false }}{{ else if .source.status.beat }}{{ end }}",
        "{{ range .source.none }}{{ else }}{{ .source.status.beat }}{{ end }}",
    ];
    for template in seeing {
        assert!(sees(template, &before, &beat), "{template}");
    }
}

/// Without limits each of these would take minutes or gigabytes, or end the process.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_a_go_template_does_without_end_is_stopped() {
    use TemplateError::{OutputTooLong, TooDeep, TooManySteps, TooMuchWork};
    let range = "{{ range $.source.items }}";
    let twice = "{{ define \"x\" }}{{ if gt . 0 }}{{ template \"x\" (sub . 1) }}{{ template \"x\" (sub . 1) }}{{ end }}{{ end }}";
    let table = [
        (nested(range, "", "{{ end }}", 30), TooManySteps),
        ("{{ range 9223372036854775807 }}{{ end }}".to_owned(), TooManySteps),
        (format!("{twice}{{{{ template \"x\" 40 }}}}"), TooManySteps),
        ("{{ define \"x\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" }}".to_owned(), TooDeep),
        (
            "{{ define \"x\" }}{{ with . }}{{ template \"y\" . }}{{ end }}{{ end }}{{ define \"y\" }}{{ template \"x\" . }}{{ end }}{{ template \"x\" 1 }}"
                .to_owned(),
            TooDeep,
        ),
        ("{{ until 9223372036854775807 | len }}".to_owned(), TooMuchWork),
        ("{{ untilStep -9223372036854775807 9223372036854775807 1 | len }}".to_owned(), TooMuchWork),
        ("{{ seq 1 99999999 | len }}".to_owned(), TooMuchWork),
        ("{{ repeat 999999999 \"ab\" | len }}".to_owned(), TooMuchWork),
        ("{{ repeat 9223372036854775807 \"ab\" | len }}".to_owned(), TooMuchWork),
        ("{{ indent 999999999 \"ab\" | len }}".to_owned(), TooMuchWork),
        ("{{ range 100 }}{{ nindent 999999 \"a\\nb\" | len }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100 }}{{ printf \"%999999d%-999999s%999999v\" 1 \"a\" nil | len }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100 }}{{ printf \"%.999999f%.999999d%#.999999x\" 1.5 1 \"a\" | len }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100 }}{{ printf \"%*d\" 999999 1 | len }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 40 }}{{ $.source.text | replace \"\" $.source.text | len }}{{ end }}".to_owned(), TooMuchWork),
        (format!("{{{{ {} | len }}}}", nested("(toJson ", ".source.text", ")", 20)), TooMuchWork),
        ("{{ $l := list 1 }}{{ range 64 }}{{ $l = concat $l $l }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ $t := \"ab\" }}{{ range 64 }}{{ $t = print $t $t }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ $t := \"ab\" }}{{ range 64 }}{{ $t = cat $t $t | quote | js | html }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ $l := .source.many }}{{ range 64 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l | len }}".to_owned(), TooMuchWork),
        ("{{ $l := .source.many }}{{ range 64 }}{{ $l = list $l $l }}{{ end }}{{ deepEqual $l $l }}".to_owned(), TooMuchWork),
        ("{{ uniq .source.different | len }}".to_owned(), TooMuchWork),
        ("{{ range 100000 }}{{ without $.source.different 1 2 3 }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100000 }}{{ if eq $.source.text $.source.text }}{{ end }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100000 }}{{ range $.source.many }}{{ break }}{{ end }}{{ keys $.source.wide | len }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100000 }}{{ range $.source.wide }}{{ break }}{{ end }}{{ end }}".to_owned(), TooMuchWork),
        (format!("{{{{ range 100000 }}}}{{{{ $.source{} }}}}{{{{ end }}}}", ".a".repeat(25_000)), TooManySteps),
        (format!("{{{{ range 100000 }}}}{{{{ $.source.{} }}}}{{{{ end }}}}", "a".repeat(60_000)), TooManySteps),
        ("{{ range 100000 }}{{ $.source.many }}{{ end }}".to_owned(), OutputTooLong),
        ("{{ range 9 }}{{ $.source.text }}{{ end }}".to_owned(), OutputTooLong),
        ("{{ range 100 }}{{ fromJson $.source.json | len }}{{ end }}".to_owned(), TooMuchWork),
        ("{{ range 100 }}{{ split \"\" $.source.text | len }}{{ splitList \"\" $.source.text | len }}{{ end }}".to_owned(), TooMuchWork),
    ];
    let wide: Map<String, Value> = (0..10_000)
        .map(|number| (number.to_string(), json!(1)))
        .collect();
    let different: Vec<usize> = (0..10_000).collect();
    let data = TemplateData::of(json!({
        "items": vec![1; 10], "many": vec![1; 10_000], "text": "\"".repeat(256 * 1024), "wide": wide,
        "different": different, "json": format!("[{}0]", "0,".repeat(100_000)),
    }));
    for (text, expected) in table {
        // Each has what one object may take to itself.
        let data = TemplateData {
            context: data.context.clone(),
            left: Arc::new(Budget::of_all()),
        };
        let found = compile_go(&text).unwrap().render(&data);
        assert_eq!(
            found.map(|text| text.len()),
            Err(expected),
            "{}",
            &text[..text.len().min(120)]
        );
    }
}

/// A list in a list in a list: what goes into it calls itself.
#[test]
fn values_stand_in_each_other_to_a_depth() {
    let deep = |times: usize, then: &str| {
        let text = format!(
            "{{{{ $l := list }}}}{{{{ range {times} }}}}{{{{ $l = list $l }}}}{{{{ end }}}}{{{{ {then} }}}}"
        );
        render_go(&text).map(|text| text.len())
    };
    let (open, close) = ("[".repeat(126), "]".repeat(126));
    for then in [
        "$l",
        "toJson $l",
        "printf \"%#v\" $l",
        "deepEqual $l $l",
        "deepCopy $l",
    ] {
        assert!(deep(120, then).is_ok(), "{then}");
        let error = deep(5_000, then).unwrap_err().to_string();
        assert!(error.ends_with("values are nested too deep"), "{error}");
    }
    let within = TemplateData::of(serde_json::from_str(&format!("{open}{close}")).unwrap());
    let text = "{{ $l := .source }}{{ range 120 }}{{ $l = dict \"a\" $l }}{{ end }}{{ $l }}{{ toPrettyJson $l | len }}{{ deepEqual $l $l }}";
    assert!(compile_go(text).unwrap().render(&within).is_ok());
}

/// At every limit of what stands in each other, on a stack of half of what a thread has.
#[test]
fn a_rendering_stays_on_its_stack() {
    let blocks = nested(
        "{{ if 1 }}{{ with 1 }}{{ range 1 }}",
        "{{ template \"x\" 1 }}",
        "{{ end }}{{ end }}{{ end }}",
        10,
    );
    let recursion = format!("{{{{ define \"x\" }}}}{blocks}{{{{ end }}}}{{{{ template \"x\" }}}}");
    let call = nested("(list ", "1", ")", 30);
    let calls = format!(
        "{{{{ define \"x\" }}}}{{{{ template \"x\" {call} }}}}{{{{ end }}}}{{{{ template \"x\" }}}}"
    );
    let printing = "{{ $l := list }}{{ range 126 }}{{ $l = list $l }}{{ end }}{{ $l }}";
    let once = nested("{{ if 1 }}", printing, "{{ end }}", 31);
    // A list in a list, as deep as it may be, with an object in it that is as deep as one may be, where most templates call each other.
    let handling =
        "{{ . }}{{ toPrettyJson . | len }}{{ deepEqual . . }}{{ printf \"%#v\" . | len }}";
    let deepest = format!(
        "{{{{ define \"x\" }}}}{{{{ if gt .n 0 }}}}{{{{ template \"x\" (dict \"n\" (sub .n 1) \"l\" .l) }}}}{{{{ else }}}}{{{{ with .l }}}}{handling}{{{{ end }}}}{{{{ end }}}}{{{{ end }}}}\
         {{{{ $l := .source }}}}{{{{ range 124 }}}}{{{{ $l = list $l }}}}{{{{ end }}}}{{{{ template \"x\" (dict \"n\" 47 \"l\" $l) }}}}"
    );
    let (open, close) = ("[".repeat(126), "]".repeat(126));
    let object = TemplateData::of(serde_json::from_str(&format!("{open}{close}")).unwrap());
    let render = move || {
        for text in [&recursion, &calls] {
            assert_eq!(render_go(text), Err(TemplateError::TooDeep));
        }
        assert!(render_go(&once).is_ok());
        let rendered = compile_go(&deepest).unwrap().render(&object);
        assert!(rendered.is_ok(), "{rendered:?}");
    };
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    thread.spawn(render).unwrap().join().unwrap();
    let told = TemplateError::TooDeep.to_string();
    assert!(
        told.contains(&format!("more than {RUN_DEPTH_LIMIT} deep")),
        "{told}"
    );
}

#[test]
fn the_shape_of_a_go_template_is_limited() {
    let refused = |text: &str| compile_go(text).map(drop).unwrap_err().to_string();
    assert_eq!(
        compile_go(&"x".repeat(TEMPLATE_LIMIT + 1)).map(drop),
        Err(TemplateError::TooLong)
    );
    let many = "{{ .source.a }}\n".repeat(TAG_LIMIT + 1);
    assert_eq!(
        refused(&many),
        "line 1001, column 1: a template has no more than 1000 tags"
    );
    let deep = "blocks and parentheses are nested too deep";
    assert!(refused(&nested("{{ if 1 }}", "", "{{ end }}", 40)).ends_with(deep));
    assert!(refused(&format!("{{{{ {} }}}}", nested("(", "1", ")", 7_000))).ends_with(deep));
    // Cases of one block do not stand in each other.
    let cases = format!(
        "{{{{ if 0 }}}}{}{{{{ end }}}}",
        "{{ else if .source.nope }}".repeat(400)
    );
    assert_eq!(render_go(&cases).as_deref(), Ok(""));
}

#[test]
fn go_templates_of_one_object_take_no_more_together_than_four_may() {
    let steps = "{{ range 60 }}{{ range 60 }}{{ . }}{{ end }}{{ end }}";
    let work = "{{ range 6 }}{{ upper $.source.text | len }}{{ end }}";
    for text in [steps, work] {
        let template = compile_go(text).unwrap();
        let source = json!({"text": "k".repeat(256 * 1024)});
        let data = TemplateData::of(source.clone());
        let rendered = Vec::from_iter((0..60).map(|_| template.render(&data).err()));
        let alone = rendered.iter().take_while(|error| error.is_none()).count();
        assert!((4..40).contains(&alone), "{alone} times {text}");
        let more = Some(TemplateError::TooMuchTogether);
        assert!(
            rendered[alone..].iter().all(|error| *error == more),
            "{text}"
        );
        assert!(template.render(&TemplateData::of(source)).is_ok());
    }
}

#[test]
fn the_readme_of_the_policies_lists_every_function_of_go_templates() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/policies");
    let text = std::fs::read_to_string(path.join("README.md")).unwrap();
    let missing = go_functions()
        .into_iter()
        .filter(|name| !text.contains(&format!("`{name}`")));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}
