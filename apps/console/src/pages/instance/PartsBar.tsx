import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './PartsBar.module.css'

/** The parts of the page that are gone to, in the order of a narrow screen. The first is its top. */
export const PARTS = ['overview', 'logs', 'files', 'ports', 'events'] as const
export type PartName = (typeof PARTS)[number]

/** What a part's element is found by. */
export const partId = (name: PartName) => `part-${name}`

/** Goes to a part of the page. */
export function goTo(name: PartName): void {
  const part = document.getElementById(partId(name))
  part?.scrollIntoView()
  // Whoever goes on by keyboard, or hears the page, is there too.
  part?.focus({ preventScroll: true })
}

/** On a phone, where the page is long: its parts in a bar at the foot, with the one in view marked. */
export function PartsBar() {
  const { t } = useTranslation('instance')
  const current = usePartInView()
  return (
    <nav className={classes.bar} aria-label={t('parts.label')} data-foot-bar>
      {PARTS.map(name => (
        <button
          key={name}
          type="button"
          className={classes.part}
          aria-current={name === current ? 'location' : undefined}
          onClick={() => goTo(name)}
        >
          {t(`parts.${name}`)}
        </button>
      ))}
    </nav>
  )
}

/** The part that is read: the last one whose beginning has passed the upper third of the window. */
function usePartInView(): PartName {
  const [current, setCurrent] = useState<PartName>(PARTS[0])
  useEffect(() => {
    let frame = 0
    const look = () => {
      frame = 0
      const line = window.innerHeight / 3
      const isPassed = (name: PartName) =>
        (document.getElementById(partId(name))?.getBoundingClientRect().top ?? Infinity) <= line
      setCurrent(PARTS.findLast(isPassed) ?? PARTS[0])
    }
    const onScroll = () => {
      if (frame === 0) frame = requestAnimationFrame(look)
    }
    window.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      window.removeEventListener('scroll', onScroll)
      cancelAnimationFrame(frame)
    }
  }, [])
  return current
}
