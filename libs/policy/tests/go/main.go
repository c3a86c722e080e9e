// Renders templates with Go's own text/template and sprig, for a test that compares what Armadex renders with it.
//
// Takes a line of JSON for each template on standard input, {"template": TEXT, "data": VALUE}, and gives a line for each on standard
// output: {"output": TEXT}, or {"parse": WHY} or {"execute": WHY} for one that fails.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
)

type question struct {
	Template string `json:"template"`
	Data     any    `json:"data"`
}

type answer struct {
	Output  *string `json:"output,omitempty"`
	Parse   string  `json:"parse,omitempty"`
	Execute string  `json:"execute,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		told, err := json.Marshal(render(line))
		if err != nil {
			panic(err)
		}
		out.Write(append(told, '\n'))
	}
}

func render(line []byte) answer {
	var asked question
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&asked); err != nil {
		panic(err)
	}
	parsed, err := template.New("policy").Funcs(sprig.FuncMap()).Parse(asked.Template)
	if err != nil {
		return answer{Parse: err.Error()}
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, numbers(asked.Data)); err != nil {
		return answer{Execute: err.Error()}
	}
	if !utf8.Valid(text.Bytes()) {
		return answer{Execute: "what was rendered is not UTF-8 text"}
	}
	// As Clusterpedia does with whatever it renders.
	output := strings.ReplaceAll(text.String(), "<no value>", "")
	return answer{Output: &output}
}

// numbers are int64 or float64, as in an object that a Kubernetes client decoded.
func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if integer, err := value.Int64(); err == nil {
			return integer
		}
		float, err := value.Float64()
		if err != nil {
			panic(err)
		}
		return float
	case []any:
		for place := range value {
			value[place] = numbers(value[place])
		}
	case map[string]any:
		for name := range value {
			value[name] = numbers(value[name])
		}
	}
	return value
}
