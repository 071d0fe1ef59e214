import { Suspense, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../app/lazy-part.ts'
import classes from './SimulatedTag.module.css'

const load = () => import('./SimulatedTooltip.tsx')
const SimulatedTooltip = lazyPart(() => load().then(module => module.SimulatedTooltip))

/** What the tag says, and what that means. */
export interface SimulatedWords {
  tag: string
  hint: string
}

/** The words of the tags of a page; they change with the language. */
export function useSimulatedWords(): SimulatedWords {
  const { t } = useTranslation('instances')
  return useMemo(() => ({ tag: t('machine.simulated'), hint: t('machine.simulated_hint') }), [t])
}

/** Says that a GPU is not real, and by pointer, focus or touch what that means (B1). */
export function SimulatedTag({ words }: { words: SimulatedWords }) {
  const [asked, setAsked] = useState(false)
  const [shown, setShown] = useState(false)
  const show = () => {
    setAsked(true)
    setShown(true)
  }
  const hide = () => setShown(false)
  const tag = (
    <button
      type="button"
      className={classes.tag}
      aria-label={`${words.tag}. ${words.hint}`}
      onPointerEnter={show}
      onPointerLeave={hide}
      onFocus={show}
      onBlur={hide}
      onClick={show}
      onKeyDown={event => event.key === 'Escape' && hide()}
    >
      {words.tag}
    </button>
  )
  // The tooltip only adds what is drawn: around the same button, so that it keeps the focus.
  return (
    <span className={classes.place}>
      {tag}
      {asked && (
        <Suspense>
          <SimulatedTooltip hint={words.hint} shown={shown} />
        </Suspense>
      )}
    </span>
  )
}
