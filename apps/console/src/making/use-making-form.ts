import { listCreations } from '@berth/contract/creations'
import { type FormEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type * as z from 'zod'
import { ApiError } from '../api/api-error.ts'
import { reread } from '../api/cache-lifecycle.ts'
import { connection, whenBack } from '../api/connection.ts'
import { useSession } from '../app/session/session.ts'
import { useContractForm } from '../ui/use-contract-form.ts'
import { type MakingDraft, useMakingDraft } from './making-draft.ts'

interface MakingFormOptions<Body> {
  /** Of the page, under which what was typed is kept. */
  name: string
  /** What the call takes, with what the form holds put into its words first. */
  schema: z.ZodType<Body>
  /** Sends it, with `silent` set. */
  onSubmit: (body: Body) => Promise<unknown>
}

/**
 * The form of a page that makes something. What is typed outlasts leaving, a reload and signing in, which a guest is asked to
 * do once there is nothing wrong with what they typed.
 */
export function useMakingForm<Body>({ name, schema, onSubmit }: MakingFormOptions<Body>) {
  const { user } = useSession()
  const [draft, keepDraft] = useMakingDraft(name)
  const [asksSignIn, setAsksSignIn] = useState(false)
  const [sending, setSending] = useState(0)
  const [begun, setBegun] = useState(0)
  /** What was sent last had no answer: none comes to anything since, or they do again. */
  const [unanswered, setUnanswered] = useState<'lost' | 'back' | null>(null)
  const { form, submit, check, busy, failure } = useContractForm<MakingDraft, Body>({
    // What comes in is whatever the form holds: a schema of the contract says so of nothing.
    schema: schema as z.ZodType<Body, MakingDraft>,
    initialValues: draft,
    onSubmit: async body => {
      setUnanswered(null)
      try {
        await onSubmit(body)
      } catch (error) {
        if (error instanceof ApiError && error.status === 0) setUnanswered('lost')
        throw error
      }
      setBegun(count => count + 1)
    },
  })
  const isOffline = useSyncExternalStore(connection.subscribe, connection.lostSince) !== null
  useEffect(
    () =>
      whenBack(() => {
        // What came of it after all stands in the list by then.
        void reread([listCreations.operation]).then(() => setUnanswered(lost => lost && 'back'))
      }),
    [],
  )
  const { values } = form
  const keep = useRef(keepDraft)
  useEffect(() => keep.current(values), [values])
  return {
    ...{ values, busy, asksSignIn, begun },
    failure: unanswered === 'back' ? null : failure,
    errors: form.errors,
    /** The gateway cannot be reached: nothing can be sent. */
    isOffline,
    isGuest: user === null,
    /** Pictures are on their way. */
    isSending: sending > 0,
    onSending: (isSending: boolean) => setSending(count => Math.max(0, count + (isSending ? 1 : -1))),
    change: (part: Partial<MakingDraft>) => form.setValues(part),
    askSignIn: () => setAsksSignIn(true),
    endSignIn: () => setAsksSignIn(false),
    submit(event: FormEvent<HTMLFormElement>) {
      if (user !== null) return submit(event)
      event.preventDefault()
      if (check(event.currentTarget) !== null) setAsksSignIn(true)
    },
  }
}
export type MakingForm = ReturnType<typeof useMakingForm>
