// A plugin for OpenCode, which does not report over ACP what each request used, nor that it waits for its provider.
// The plugin writes each event as one line of JSON to the file named by TRUED_TOLD.
import { appendFileSync } from "node:fs"

const tell = (event) => appendFileSync(process.env.TRUED_TOLD, JSON.stringify(event) + "\n")
const known = new Set()

const answered = ({ id, tokens, cost, error }) => {
  if (known.has(id)) return // one message is reported several times
  known.add(id)
  const { input, output, reasoning, cache } = tokens
  tell({ event: "request", sent: input + cache.read + cache.write, said: output + reasoning, cached: cache.read, cost })
  if (error?.data?.statusCode) tell({ event: "trouble", status: error.data.statusCode, headers: error.data.responseHeaders })
}

export const Told = async () => ({
  event: async ({ event: { type, properties } }) => {
    if (type === "message.updated" && properties.info.role === "assistant" && properties.info.time.completed)
      answered(properties.info)
    if (type === "session.status" && properties.status.type === "retry")
      tell({ event: "waits", why: properties.status.message, until: properties.status.next / 1000 })
    if (type === "session.compacted") tell({ event: "compacted" })
  },
})
