package messages

// maxName is how much of a name of the text an error shows, in bytes.
const maxName = 64

// readMessage and the other functions of this file require data to be valid JSON.
func readMessage(data []byte) (Message, error) {
	o := readObject(data)
	var role string
	o.take("role", &role)
	if o.err != nil {
		return nil, o.err
	}
	var m Message
	switch Role(role) {
	case RoleSystem:
		m = readSystem(o)
	case RoleUser:
		m = readUser(o)
	case RoleAssistant:
		m = readAssistant(o)
	case RoleTool:
		m = readTool(o)
	default:
		return nil, at("role", unknown("role", role))
	}
	if o.err != nil {
		return nil, o.err
	}
	return m, nil
}

func readSystem(o *object) (s System) {
	o.take("text", &s.Text)
	o.take("name", &s.Name)
	s.Cache = readCache(o)
	s.Extras = o.extras()
	return s
}

func readUser(o *object) (u User) {
	u.Content = readParts(o, readUserPart)
	o.take("pinned", &u.Pinned)
	o.take("summary", &u.Summary)
	o.take("untrusted", &u.Untrusted)
	o.take("name", &u.Name)
	u.Cache = readCache(o)
	u.Extras = o.extras()
	return u
}

func readAssistant(o *object) (a Assistant) {
	a.Content = readParts(o, readAssistantPart)
	o.take("name", &a.Name)
	a.Cache = readCache(o)
	a.Extras = o.extras()
	return a
}

func readTool(o *object) (t Tool) {
	t.ToolOutput = readOutput(o)
	t.Cache = readCache(o)
	t.Extras = o.extras()
	return t
}

func readOutput(o *object) (out ToolOutput) {
	o.take("call_id", &out.CallID)
	o.take("tool_name", &out.ToolName)
	o.take("output", &out.Output)
	o.take("status", (*string)(&out.Status))
	o.take("reason", &out.Reason)
	o.take("untrusted", &out.Untrusted)
	o.take("elapsed", &out.Elapsed)
	o.take("kept", &out.Kept)
	o.takeList("images", func(raw []byte) error {
		image := readObject(raw)
		out.Images = append(out.Images, readImage(image))
		return image.err
	})
	o.takeList("attachments", func(raw []byte) error {
		a := readObject(raw)
		var one Attachment
		a.take("name", &one.Name)
		a.take("media_type", &one.MediaType)
		a.take("url", &one.URL)
		out.Attachments = append(out.Attachments, one)
		return a.err
	})
	return out
}

// readParts reads the content of a message.
func readParts[C any](o *object, read func(o *object, kind string) C) (content []C) {
	o.takeList("content", func(raw []byte) error {
		part := readObject(raw)
		var kind string
		part.take("type", &kind)
		c := read(part, kind)
		content = append(content, c)
		return part.err
	})
	return content
}

func readUserPart(o *object, kind string) UserContent {
	switch kind {
	case typeText:
		return readText(o)
	case typeImage:
		return readImage(o)
	case typeFile:
		return readFile(o)
	case typeAudio:
		return readAudio(o)
	default:
		o.unknownType(kind)
		return nil
	}
}

func readAssistantPart(o *object, kind string) AssistantContent {
	switch kind {
	case typeText:
		return readText(o)
	case typeThought:
		return readThought(o)
	case typeCall:
		return readCall(o)
	default:
		o.unknownType(kind)
		return nil
	}
}

func (o *object) unknownType(kind string) {
	if o.err == nil {
		o.err = at("type", unknown("type", kind))
	}
}

func readCache(o *object) (c Cache) {
	o.take("cache", (*string)(&c))
	return c
}

func readText(o *object) (t Text) {
	o.take("text", &t.Text)
	o.takeList("citations", func(raw []byte) error {
		citation := readObject(raw)
		t.Citations = append(t.Citations, readCitation(citation))
		return citation.err
	})
	t.Cache = readCache(o)
	return t
}

func readCitation(o *object) (c Citation) {
	o.take("start", &c.Start)
	o.take("end", &c.End)
	o.take("url", &c.URL)
	o.take("title", &c.Title)
	o.take("file_id", &c.FileID)
	o.take("quote", &c.Quote)
	if raw := o.get("raw"); o.err == nil && raw != nil {
		c.Raw, o.err = compact(raw)
	}
	return c
}

func readThought(o *object) (t Thought) {
	o.take("text", &t.Text)
	t.Extras = o.extras()
	return t
}

func readImage(o *object) (i Image) {
	o.take("url", &i.URL)
	o.take("detail", &i.Detail)
	i.Cache = readCache(o)
	return i
}

func readFile(o *object) (f File) {
	o.take("name", &f.Name)
	o.take("media_type", &f.MediaType)
	o.take("url", &f.URL)
	o.take("id", &f.ID)
	f.Cache = readCache(o)
	return f
}

func readAudio(o *object) (a Audio) {
	o.take("format", &a.Format)
	o.take("url", &a.URL)
	a.Cache = readCache(o)
	return a
}

func readCall(o *object) (c ToolCall) {
	o.take("id", &c.ID)
	o.take("name", &c.Name)
	o.take("arguments", &c.Arguments)
	c.Extras = o.extras()
	return c
}
