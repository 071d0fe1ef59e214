import { type FormEvent, type ReactNode, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { ModelsBar } from '../models/ModelsBar.tsx'
import classes from './MakingRoom.module.css'

interface MakingRoomProps {
  /** What the page is, for those who do not see it. */
  title: string
  /** Said over both: that a model of the address is not here. */
  note: ReactNode
  onSubmit: (event: FormEvent<HTMLFormElement>) => void
  /** What is chosen and typed. */
  settings: ReactNode
  /** What it costs, and the button: always in sight. */
  foot: ReactNode
  /** How often something was begun: each time it is brought into sight. */
  begun: number
  /** What came of it. */
  children: ReactNode
}

/**
 * The frame of a page that makes something: settings at the left with the price and the button at their foot, what was made
 * at the right. On a phone both are one column, and the foot stays at the bottom of the screen.
 */
export function MakingRoom({ title, note, onSubmit, settings, foot, begun, children }: MakingRoomProps) {
  const { t } = useTranslation('making')
  const results = useRef<HTMLElement>(null)
  useEffect(() => {
    const box = results.current
    if (begun === 0 || box === null) return
    // In two columns it scrolls by itself, in one the page does.
    box.scrollTop = 0
    box.scrollIntoView({ block: 'start' })
  }, [begun])
  return (
    <div className={classes.page} data-fills-page data-fills-width>
      <ModelsBar />
      <div className={classes.room}>
        <h1 className="said">{title}</h1>
        <form className={classes.form} aria-label={t('settings')} noValidate onSubmit={onSubmit}>
          <div className={classes.settings}>
            {note}
            {settings}
          </div>
          <div className={classes.foot}>{foot}</div>
        </form>
        <section ref={results} className={classes.results} aria-label={t('results')}>
          {children}
        </section>
      </div>
    </div>
  )
}
