import { BACK_TO_TOP_PX } from '@berth/contract/limits'
import { ActionIcon } from '@mantine/core'
import { IconArrowUp } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './BackToTop.module.css'

/** Appears after more than 100px of scrolling (R2.17). */
export function BackToTop() {
  const { t } = useTranslation('common')
  const [shown, setShown] = useState(false)
  useEffect(() => {
    const onScroll = () => setShown(window.scrollY > BACK_TO_TOP_PX)
    window.addEventListener('scroll', onScroll, { passive: true })
    // A page may open scrolled. Asked after the first frame, when the layout is known: before it, the question alone
    // makes the browser lay out the whole page.
    let timer: ReturnType<typeof setTimeout> | undefined
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(onScroll)
    })
    return () => {
      window.removeEventListener('scroll', onScroll)
      cancelAnimationFrame(frame)
      clearTimeout(timer)
    }
  }, [])
  if (!shown) return null
  return (
    <ActionIcon
      variant="default"
      className={classes.button}
      aria-label={t('shell.back_to_top')}
      onClick={() => window.scrollTo({ top: 0 })}
    >
      <IconArrowUp size={16} stroke={1.6} />
    </ActionIcon>
  )
}
