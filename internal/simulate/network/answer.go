package network

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// maxReview bounds a review. Source: the API server limits what it sends to
// 3 MiB for an object, twice for an update.
const maxReview = 16 << 20

// answer is every server of the cluster: it admits what is reviewed, converts by
// relabelling the version, serves aggregated groups without resources, and
// answers anything else with 200.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		answerGet(w, r)
		return
	}
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxReview)).Decode(&review); err != nil {
		w.WriteHeader(http.StatusOK)
		return
	}
	response := map[string]any{"uid": review.Request.UID}
	switch review.Kind {
	case "AdmissionReview":
		response["allowed"] = true
	case "ConversionReview":
		for _, o := range review.Request.Objects {
			o["apiVersion"] = review.Request.DesiredAPIVersion
		}
		response["convertedObjects"] = review.Request.Objects
		response["result"] = map[string]any{"status": "Success"}
	default:
		w.WriteHeader(http.StatusOK)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

func answerGet(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "apis" && len(parts) == 3:
		writeJSON(w, http.StatusOK, map[string]any{
			"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": parts[1] + "/" + parts[2], "resources": []any{},
		})
	case parts[0] == "apis" || parts[0] == "openapi":
		writeJSON(w, http.StatusNotFound, map[string]any{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound,
			"message": "the server could not find the requested resource",
		})
	default:
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "simulated\n") // a client that went away
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that went away
}
