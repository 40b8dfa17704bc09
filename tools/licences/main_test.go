package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

const wtfpl = `DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE
Version 2, December 2004

Copyright (C) 2004 Sam Hocevar <sam@hocevar.net>

Everyone is permitted to copy and distribute verbatim or modified copies of this license document, and changing it is allowed as long as the name is changed.

DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE
TERMS AND CONDITIONS FOR COPYING, DISTRIBUTION AND MODIFICATION

0. You just DO WHAT THE FUCK YOU WANT TO.
`

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"allowed":                  {map[string]string{"LICENSE": mit, "NOTICE": "a notice"}, ""},
		"another":                  {map[string]string{"COPYING": wtfpl}, "is licensed under WTFPL"},
		"another below":            {map[string]string{"LICENSE": mit, "a/b/LICENSE.txt": wtfpl}, "is licensed under WTFPL"},
		"another beside":           {map[string]string{"LICENSE": mit, "c/LICENSE": wtfpl}, ""}, // nothing in c is linked
		"unknown":                  {map[string]string{"LICENCE.md": "Pay us."}, "is no licence that is known"},
		"none":                     {map[string]string{"README.md": mit}, "has no licence"},
		"a notice is no licence":   {map[string]string{"NOTICE": mit}, "has no licence"},
		"two in one":               {map[string]string{"LICENSE": mit + "\n" + wtfpl}, "is licensed under WTFPL"},
		"one hidden among a novel": {map[string]string{"LICENSE": mit + strings.Repeat("And there is more to it. ", 100)}, "is no licence that is known"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tc.files {
				file = filepath.Join(dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			m := &module{path: "example.com/m", dir: dir, packages: []string{dir}}
			if below := filepath.Join(dir, "a", "b"); len(tc.files) > 0 {
				if _, err := os.Stat(below); err == nil {
					m.packages = append(m.packages, below)
				}
			}
			err := m.read()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
