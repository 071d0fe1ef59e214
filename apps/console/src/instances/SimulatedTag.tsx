import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../app/lazy-part.ts'
import classes from './SimulatedTag.module.css'

const load = () => import('./SimulatedTooltip.tsx')
const SimulatedTooltip = lazyPart(() => load().then(module => module.SimulatedTooltip))

/** Says that a GPU is not real, and by pointer, focus or touch what that means (B1). */
export function SimulatedTag() {
  const { t } = useTranslation('instances')
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
      onPointerEnter={show}
      onPointerLeave={hide}
      onFocus={show}
      onBlur={hide}
      onClick={show}
      onKeyDown={event => event.key === 'Escape' && hide()}
    >
      {t('machine.simulated')}
      <span className="said">{t('machine.simulated_hint')}</span>
    </button>
  )
  // The tooltip only adds what is drawn: around the same button, so that it keeps the focus.
  return (
    <span className={classes.place}>
      {tag}
      {asked && (
        <Suspense>
          <SimulatedTooltip shown={shown} />
        </Suspense>
      )}
    </span>
  )
}
