import type { ApiError } from '../api/api-error.ts'
import { failureOf, readAnswerEvent } from './answer-event.ts'
import { type Message, messagesFor } from './messages.ts'
import {
  type Answer,
  type AnswerState,
  isUnderWay,
  type Prompt,
  type ReplacedAnswer,
  type Turn,
} from './turns.ts'

/** As often as a text that grows is drawn anew: faster than that nobody reads. */
const FLUSH_MS = 60

/** Which models are asked, and how. */
export interface Asking {
  modelIds: readonly string[]
  /** What all of them are told first; empty for nothing. */
  system: string
  /** The body that a model is sent with these messages. */
  bodyOf: (modelId: string, messages: readonly Message[]) => Record<string, unknown>
  /** By how many tokens these are too many for a model, about; 0 where they fit. */
  tooManyOf: (modelId: string, messages: readonly Message[]) => number
}

/** What a conversation needs from its surroundings. */
export interface ConversationDeps {
  /**
   * Sends a body and tells each event of the answer.
   * @throws ApiError where there is none, or it breaks off.
   */
  ask: (
    body: Record<string, unknown>,
    options: { signal: AbortSignal; onEvent: (data: string) => void },
  ) => Promise<void>
  /** A clock that only counts on, in milliseconds. */
  tickMs: () => number
  /** Since 1970, in milliseconds. */
  nowMs: () => number
  makeId: () => string
  /** Told when an answer has ended that may have cost something. */
  onCharged: () => void
}

export type Conversation = ReturnType<typeof createConversation>

/**
 * A conversation with one model or several at once. It is kept in the memory of its page alone; what a turn has not
 * changed of is the same object as before, so that only that is drawn anew.
 * @param deps See ConversationDeps.
 */
export function createConversation(deps: ConversationDeps) {
  let turns: readonly Turn[] = []
  let replaced: readonly ReplacedAnswer[] = []
  const listeners = new Set<() => void>()
  const underWay = new Map<string, AbortController>()

  function set(next: readonly Turn[]): void {
    turns = next
    for (const listener of listeners) listener()
  }

  /** Keeps what answers cost that are about to go. */
  function replace(gone: readonly Turn[], isMeant: (modelId: string) => boolean = () => true): void {
    const answers = gone.flatMap(turn => Object.entries(turn.answers))
    replaced = [
      ...replaced,
      ...answers
        .filter(([modelId]) => isMeant(modelId))
        .map(([modelId, { pieces, tokens, costMicro }]) => ({ modelId, pieces, tokens, costMicro })),
    ]
  }

  function patch(turnId: string, modelId: string, change: (before: Answer) => Partial<Answer>): void {
    set(
      turns.map(turn => {
        const before = turn.answers[modelId]
        if (turn.id !== turnId || !before) return turn
        return { ...turn, answers: { ...turn.answers, [modelId]: { ...before, ...change(before) } } }
      }),
    )
  }

  async function answer(turn: Turn, modelId: string, asking: Asking): Promise<void> {
    const key = keyOf(turn.id, modelId)
    underWay.get(key)?.abort()
    const abort = new AbortController()
    underWay.set(key, abort)
    const own = (change: (before: Answer) => Partial<Answer>) => {
      if (underWay.get(key) === abort) patch(turn.id, modelId, change)
    }
    const gathered = gather(change => own(change), deps.tickMs)
    const before = turns.slice(
      0,
      turns.findIndex(({ id }) => id === turn.id),
    )
    const messages = messagesFor(modelId, before, turn.prompt, asking.system)
    try {
      await deps.ask(asking.bodyOf(modelId, messages), {
        signal: abort.signal,
        onEvent: data => gathered.take(data),
      })
      gathered.end()
      own(ended(deps.tickMs(), 'done'))
    } catch (error) {
      gathered.end()
      const { code, message } = error as ApiError
      const failure = failureOf(message, code)
      // Not every server says by how much it was too long.
      if (code === 'context_length_exceeded')
        failure.tokensTooMany ??= asking.tooManyOf(modelId, messages) || null
      own(ended(deps.tickMs(), abort.signal.aborted ? 'stopped' : 'broke_off', failure))
    } finally {
      if (underWay.get(key) === abort) underWay.delete(key)
      deps.onCharged()
    }
  }

  function ask(turn: Turn, asking: Asking): void {
    for (const modelId of asking.modelIds) void answer(turn, modelId, asking)
  }

  /** Ends what is under way, of all or of some: whoever was asked is told at once. */
  function stop(isMeant: (key: string) => boolean = () => true): void {
    for (const [key, abort] of underWay) if (isMeant(key)) abort.abort()
  }

  return {
    turns: (): readonly Turn[] => turns,
    /** Of answers that are no longer among the turns, until all is forgotten. */
    replaced: (): readonly ReplacedAnswer[] => replaced,
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    /** Asks models, after all that was said before. */
    send(prompt: Prompt, asking: Asking): void {
      const turn = newTurn(deps, prompt, asking.modelIds)
      set([...turns, turn])
      ask(turn, asking)
    },

    /** Has one model answer the last prompt once more; what it had answered is gone, but for its cost. */
    again(modelId: string, asking: Omit<Asking, 'modelIds'>): void {
      const turn = turns.at(-1)
      if (!turn) return
      replace([turn], id => id === modelId)
      const answers = { ...turn.answers, [modelId]: newAnswer(deps.tickMs()) }
      set([...turns.slice(0, -1), { ...turn, answers }])
      ask({ ...turn, answers }, { ...asking, modelIds: [modelId] })
    },

    /** Asks something else in the place of an earlier prompt; all that came after that one is gone. */
    edit(turnId: string, prompt: Prompt, asking: Asking): void {
      const index = turns.findIndex(({ id }) => id === turnId)
      if (index < 0) return
      stop()
      underWay.clear()
      replace(turns.slice(index))
      const turn = newTurn(deps, prompt, asking.modelIds)
      set([...turns.slice(0, index), turn])
      ask(turn, asking)
    },

    /** Ends the answers that are under way; what came of them stays. */
    stop: () => stop(),

    /** Forgets what one model has answered, but for its cost. */
    forget(modelId: string): void {
      stop(key => key.endsWith(keyOf('', modelId)))
      replace(turns, id => id === modelId)
      set(
        turns.map(turn => {
          const { [modelId]: _, ...others } = turn.answers
          return { ...turn, answers: others }
        }),
      )
    },

    /** Forgets everything. */
    clear(): void {
      stop()
      underWay.clear()
      replaced = []
      set([])
    },
  }
}

const keyOf = (turnId: string, modelId: string) => `${turnId} ${modelId}`

function newTurn(deps: ConversationDeps, prompt: Prompt, modelIds: readonly string[]): Turn {
  const answers = Object.fromEntries(modelIds.map(id => [id, newAnswer(deps.tickMs())]))
  return { id: deps.makeId(), prompt, atMs: deps.nowMs(), answers }
}

function newAnswer(askedMs: number): Answer {
  return {
    state: 'waiting',
    text: '',
    thoughts: '',
    askedMs,
    firstMs: null,
    endMs: null,
    pieces: 0,
    tokens: null,
    costMicro: null,
    isCut: false,
    failure: null,
  }
}

/** The end of an answer: of one that said why it failed that stays, and of one that broke off what had come. */
function ended(endMs: number, how: AnswerState, failure: Answer['failure'] = null) {
  return (before: Answer): Partial<Answer> => {
    const why = before.failure ?? (how === 'broke_off' ? failure : null)
    const hasText = before.text !== '' || before.thoughts !== ''
    const state = why === null ? how : hasText ? 'broke_off' : 'failed'
    return { state, endMs, failure: why }
  }
}

/** Puts the pieces of an answer together, a few times a second. */
function gather(patch: (change: (before: Answer) => Partial<Answer>) => void, tickMs: () => number) {
  let waiting: ReturnType<typeof readAnswerEvent>[] = []
  let firstMs: number | null = null
  let timer: ReturnType<typeof setTimeout> | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const events = waiting
    waiting = []
    if (events.length === 0) return
    patch(before => {
      const pieces = events.filter(({ text, thought }) => text !== undefined || thought !== undefined)
      const cost = events.findLast(event => event.cost)?.cost
      return {
        state: isUnderWay(before) && pieces.length > 0 ? 'writing' : before.state,
        text: before.text + events.map(({ text = '' }) => text).join(''),
        thoughts: before.thoughts + events.map(({ thought = '' }) => thought).join(''),
        firstMs: before.firstMs ?? firstMs,
        pieces: before.pieces + pieces.length,
        isCut: before.isCut || events.some(event => event.isCut === true),
        failure: before.failure ?? events.find(event => event.failure)?.failure ?? null,
        ...(cost ? { costMicro: cost.costMicro, tokens: { input: cost.input, output: cost.output } } : {}),
      }
    })
  }

  return {
    take(data: string): void {
      const event = readAnswerEvent(data)
      if (event.text !== undefined || event.thought !== undefined) firstMs ??= tickMs()
      waiting.push(event)
      timer ??= setTimeout(flush, FLUSH_MS)
    },
    end: flush,
  }
}

/** Whether anything of a conversation is still being answered. */
export function isAnswering(turns: readonly Turn[]): boolean {
  const last = turns.at(-1)
  return last !== undefined && Object.values(last.answers).some(isUnderWay)
}
