package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// parts lists the modules in a build, as CycloneDX: those that the binary itself
// names. It has no serial number, which would be another one each time.
func (s source) parts(b build) ([]byte, error) {
	ladder := module(cyclonedx.ComponentTypeApplication, debug.Module{Path: b.info.Main.Path, Version: s.version})
	ladder.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(b.binary))}}
	ladder.Properties = &[]cyclonedx.Property{{Name: "os", Value: b.os}, {Name: "architecture", Value: b.arch}, {Name: "revision", Value: s.revision}}

	modules := []cyclonedx.Component{module(cyclonedx.ComponentTypeLibrary, debug.Module{Path: "std", Version: strings.TrimPrefix(b.info.GoVersion, "go")})}
	for _, m := range b.info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, module(cyclonedx.ComponentTypeLibrary, *m))
	}
	needs := make([]string, 0, len(modules))
	for _, m := range modules {
		needs = append(needs, m.BOMRef)
	}

	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: s.time.Format(time.RFC3339), Component: &ladder}
	bom.Components = &modules
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: ladder.BOMRef, Dependencies: &needs}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
	return out.Bytes(), err
}

func module(kind cyclonedx.ComponentType, m debug.Module) cyclonedx.Component {
	url := "pkg:golang/" + m.Path + "@" + m.Version
	c := cyclonedx.Component{BOMRef: url, Type: kind, Name: m.Path, Version: m.Version, PackageURL: url}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: m.Sum}}
	}
	return c
}
