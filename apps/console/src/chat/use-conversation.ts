import { getBalance } from '@berth/contract/billing'
import { chat } from '@berth/contract/models'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { reread } from '../api/cache-lifecycle.ts'
import { ask } from '../api/client.ts'
import { type Conversation, createConversation } from './conversation.ts'
import type { ReplacedAnswer, Turn } from './turns.ts'

/** A conversation that lasts as long as the component that has it; what is under way then ends at once. */
export function useConversation(): {
  conversation: Conversation
  turns: readonly Turn[]
  replaced: readonly ReplacedAnswer[]
} {
  const [conversation] = useState(start)
  useEffect(() => () => conversation.clear(), [conversation])
  const turns = useSyncExternalStore(conversation.subscribe, conversation.turns)
  const replaced = useSyncExternalStore(conversation.subscribe, conversation.replaced)
  return { conversation, turns, replaced }
}

function start(): Conversation {
  let made = 0
  return createConversation({
    ask: (body, options) => ask(chat, body, options),
    tickMs: () => performance.now(),
    nowMs: () => Date.now(),
    makeId: () => String(++made),
    onCharged: () => void reread([getBalance.operation]),
  })
}
