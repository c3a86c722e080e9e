//! What templates are stopped for: what they repeat, what they make longer, and what they copy.

use super::*;

fn outcome(text: &str, source: Value) -> Result<String, TemplateError> {
    compile(text).unwrap().render(&TemplateData::of(source))
}

#[test]
fn what_a_function_gave_is_paid_for_at_each_mention() {
    // As many fields as would take a clone some milliseconds.
    let fields: Map<String, Value> = (0..5_000)
        .map(|index| (format!("f{index}"), json!(1)))
        .collect();
    let long = "k".repeat(1024 * 1024);
    let source = json!({
        "fields": fields, "items": vec![1; 1000], "longKey": {long: [1]},
    });
    let with =
        |body: &str| format!("{{{{#with (default 0 source.fields) as |s|}}}}{body}{{{{/with}}}}");
    let many = |name: &str| format!("{{{{or {}}}}}", format!("{name} ").repeat(1000));
    let table = [
        // As long as they live side by side they would take gigabytes.
        with(&many("s")),
        with(&many("this")),
        with("{{#each @root.source.items}}{{#if (or s s s s s s s s)}}{{/if}}{{/each}}"),
        with("{{#each @root.source.items}}{{../f0}}{{#unless s}}{{/unless}}{{/each}}"),
        with("{{#each @root.source.items}}{{#with s as |t|}}{{/with}}{{/each}}"),
        with(&format!(
            "{{{{#if f0}}}}{{{{else if f1}}}}{}{{{{/if}}}}",
            many("s")
        ))
        .replace("f0", "no"),
        format!("{{{{#each source.longKey}}}}{}{{{{/each}}}}", many("@key")),
        format!(
            "{{{{#each source.longKey as |v k|}}}}{}{{{{/each}}}}",
            many("k")
        ),
        format!(
            "{{{{#each (get source \"longKey\")}}}}{}{{{{/each}}}}",
            many("@key")
        ),
    ];
    for text in table {
        let found = outcome(&text, source.clone());
        assert_eq!(found, Err(TemplateError::TooMuchWork), "{}", &text[..80]);
    }
}

#[test]
fn a_path_is_paid_for_by_its_segments_and_their_length() {
    let long = "k".repeat(1024 * 1024);
    let source = json!({"items": vec![1; 100], "longKey": {long: {"a": 1}}});
    let in_each = |of: &str, body: &str| format!("{{{{#each {of}}}}}{body}{{{{/each}}}}");
    let table = [
        in_each(
            "source.items",
            &format!("{{{{#if @root{}}}}}{{{{/if}}}}", ".a".repeat(30_000)),
        ),
        in_each(
            "source.items",
            &format!("{{{{@root.source.[{}]}}}}", "a".repeat(65_000)),
        ),
        in_each("source.items", &in_each("@root.source.longKey", "{{a}}")),
        in_each(
            "source.longKey as |v|",
            &in_each("@root.source.items", "{{v.nope}}"),
        ),
        in_each(
            "source.longKey",
            &in_each("@root.source.items", "{{../nope}}"),
        ),
    ];
    for text in table {
        let found = outcome(&text, source.clone());
        assert_eq!(found, Err(TemplateError::TooManySteps), "{}", &text[..60]);
    }
}

#[test]
fn what_functions_give_can_be_looped_over_and_looked_into() {
    let source = json!({
        "list": [{"name": "a", "ports": [1, 2]}, {"name": "b", "ports": [3]}],
        "labels": {"x.y/z": {"a": "1", "b": "2"}},
    });
    let table = [
        (
            "{{#with (lookup source.list 1)}}{{name}}{{#each ports}}{{this}}{{/each}}{{/with}}",
            "b3",
        ),
        (
            "{{#with (lookup source.list 0) as |c|}}{{c.name}}{{#if c.ports}}!{{/if}}{{/with}}",
            "a!",
        ),
        (
            "{{#each (get source.labels \"x.y/z\")}}{{@key}}={{this}},{{/each}}",
            "a=1,b=2,",
        ),
        (
            "{{#each source.list as |c i|}}{{i}}{{c.name}}{{#each c.ports}}{{../name}}{{this}}{{/each}}{{/each}}",
            "0aa1a21bb3",
        ),
        (
            "{{#each (default source.list source.nope) as |c|}}{{#if (eq c.name \"a\")}}{{c.name}}{{else if c.name}}-{{c.name}}{{/if}}{{/each}}",
            "a-b",
        ),
        (
            "{{#each source.list}}{{{name}}}{{(lower name)}}{{nope.deeper}}{{/each}}",
            "aabb",
        ),
        ("{{#each [1,2]}}{{this}}{{/each}}", "12"),
    ];
    for (text, expected) in table {
        assert_eq!(
            outcome(text, source.clone()).as_deref(),
            Ok(expected),
            "{text}"
        );
    }
}

#[test]
fn what_a_template_repeats_or_makes_longer_without_end_is_stopped() {
    let each = "{{#each @root.source.items}}";
    let grow = "(replace \"a\" \"aaaaaaaaaa\" ";
    let table = [
        // In a second it would do 10 of 10^32 passes and print nothing.
        (
            nested(each, "", "{{/each}}", 32),
            TemplateError::TooManySteps,
        ),
        (
            nested(each, "{{#if (eq this 1)}}{{this}}{{/if}}", "{{/each}}", 8),
            TemplateError::TooManySteps,
        ),
        // Ten thousand million bytes, of which only the number is printed.
        (
            format!("{{{{len {}}}}}", nested(grow, "\"a\"", ")", 10)),
            TemplateError::TooMuchWork,
        ),
        // A result of the square of a mebibyte, in one call.
        (
            "{{len (replace \"\" source.text source.text)}}".to_owned(),
            TemplateError::TooMuchWork,
        ),
        // The same large value over and over.
        (
            nested(
                each,
                "{{#if (eq @root.source @root.source)}}{{/if}}",
                "{{/each}}",
                3,
            ),
            TemplateError::TooMuchWork,
        ),
        (
            nested(
                each,
                "{{#with (get @root.source \"text\")}}{{/with}}",
                "{{/each}}",
                3,
            ),
            TemplateError::TooMuchWork,
        ),
        (
            nested("(toJson ", "source.text", ")", 20),
            TemplateError::TooMuchWork,
        ),
    ];
    let source = json!({"items": vec![1; 10], "text": "\"".repeat(1024 * 1024)});
    let data = TemplateData::of(source);
    for (text, expected) in table {
        let text = if text.starts_with('(') {
            format!("{{{{len {text}}}}}")
        } else {
            text
        };
        assert_eq!(
            compile(&text).unwrap().render(&data),
            Err(expected),
            "{text}"
        );
    }
}

#[test]
fn one_object_may_have_a_hundred_labels_rendered_a_hundred_times() {
    let labels: Map<String, Value> = (0..100)
        .map(|index| (format!("label-{index}"), json!("value".repeat(12))))
        .collect();
    let data = TemplateData::of(json!({"labels": labels}));
    let template = compile(
        "{{#each source.labels}}{{#if (hasPrefix \"label\" @key)}}{{lower @key}}: {{toJson this}}\n{{/if}}{{/each}}",
    )
    .unwrap();
    for _ in 0..100 {
        assert_eq!(template.render(&data).unwrap().lines().count(), 100);
    }
}

#[test]
fn templates_of_one_object_take_no_more_together_than_four_may() {
    let steps = "{{#each source.few}}{{#each @root.source.few}}{{this}}{{/each}}{{/each}}";
    let work = "{{#each source.six}}{{#if (upper @root.source.text)}}{{/if}}{{/each}}";
    for text in [steps, work] {
        let template = compile(text).unwrap();
        let source =
            json!({"few": vec![1; 60], "six": vec![1; 6], "text": "k".repeat(1024 * 1024)});
        let data = TemplateData::of(source.clone());
        let rendered = Vec::from_iter((0..20).map(|_| template.render(&data).err()));
        let alone = rendered.iter().take_while(|error| error.is_none()).count();
        assert!((4..12).contains(&alone), "{alone} times {text}");
        let more = Some(TemplateError::TooMuchTogether);
        assert!(
            rendered[alone..].iter().all(|error| *error == more),
            "{text}"
        );
        // Another object has nothing to do with it.
        assert!(template.render(&TemplateData::of(source)).is_ok());
    }
}
