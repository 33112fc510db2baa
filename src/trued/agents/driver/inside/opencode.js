// A plugin of OpenCode: over ACP it tells neither what each request used nor that it waits for its provider.
// One line of JSON an event, to the file that TRUED_TOLD names.
import { appendFileSync } from "node:fs"

const tell = (event) => appendFileSync(process.env.TRUED_TOLD, JSON.stringify(event) + "\n")
const known = new Set()

const answered = ({ id, tokens, cost, error }) => {
  if (known.has(id)) return // one message is told of several times
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
