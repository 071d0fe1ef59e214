import { chat, type Model } from '@berth/contract/models'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { usePageSearch } from '../app/search.ts'
import { useSession } from '../app/session/session.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { chatSearch, chosenModels, missingModels } from './chat-search.ts'
import { type Asking, isAnswering } from './conversation.ts'
import { parametersOf, useDraft } from './draft.ts'
import { countedMessages, estimateOf } from './estimate.ts'
import type { Message } from './messages.ts'
import { sentParameters } from './parameters.ts'
import type { Picture, Prompt } from './turns.ts'
import { useConversation } from './use-conversation.ts'

interface RoomOptions {
  /** Under which what was typed is kept. */
  name: string
  models: readonly Model[]
  /** How many of them may answer side by side. */
  most: number
}

/** A conversation with the models of its address: what was said, what is typed, and what can be done. */
export function useRoom({ name, models, most }: RoomOptions) {
  const [search, setSearch] = usePageSearch(chatSearch)
  const chosen = useMemo(() => chosenModels(search.model, models, most), [search.model, models, most])
  const missing = useMemo(() => missingModels(search.model, models), [search.model, models])
  const [draft, changeDraft] = useDraft(name)
  const { conversation, turns, replaced } = useConversation()
  const { user } = useSession()
  const off = useOffFor(chat)
  const [asksSignIn, setAsksSignIn] = useState(false)
  const isBusy = isAnswering(turns)

  const bodyOf = (modelId: string, messages: readonly Message[]) => {
    const model = models.find(({ id }) => id === modelId)
    const parameters = model ? sentParameters(parametersOf(draft, modelId), model) : {}
    return { model: modelId, messages, stream: true, ...parameters }
  }
  const estimate = (model: Model, messages: readonly Message[]) =>
    estimateOf(bodyOf(model.id, messages), model)
  const tooManyOf = (modelId: string, messages: readonly Message[]) => {
    const model = models.find(({ id }) => id === modelId)
    return model ? estimate(model, messages).tokensTooMany : 0
  }
  const asking: Asking = { modelIds: chosen.map(({ id }) => id), system: draft.system, bodyOf, tooManyOf }
  const latest = useRef(asking)
  useEffect(() => {
    latest.current = asking
  })
  const again = useCallback((modelId: string) => conversation.again(modelId, latest.current), [conversation])
  const edit = useCallback(
    (turnId: string, prompt: Prompt) => conversation.edit(turnId, prompt, latest.current),
    [conversation],
  )

  return {
    ...{ chosen, missing, draft, changeDraft, turns, replaced, isBusy, again, edit, asksSignIn },
    stop: conversation.stop,
    clear: conversation.clear,
    forget: conversation.forget,
    isGuest: user === null,
    hasSignedIn: () => setAsksSignIn(false),
    choose: (ids: readonly string[]) => setSearch({ model: ids.join(',') }),

    /** Sends what is typed, with pictures. @returns Whether it was sent. */
    send(pictures: readonly Picture[]): boolean {
      if (draft.text.trim() === '' && pictures.length === 0) return false
      if (user === null) {
        setAsksSignIn(true)
        return false
      }
      if (off !== null || isBusy) return false
      conversation.send({ text: draft.text, pictures }, asking)
      changeDraft({ text: '' })
      return true
    },

    /** What the next message will take, for each model that is asked. */
    estimates: (pictures: readonly Picture[]) =>
      chosen.map(model => {
        const prompt = { text: draft.text, pictures }
        const messages = countedMessages(model.id, turns, prompt, draft.system)
        return { name: model.name, ...estimate(model, messages) }
      }),
  }
}
export type Room = ReturnType<typeof useRoom>
