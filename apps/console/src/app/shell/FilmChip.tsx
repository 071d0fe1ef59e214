import { OPEN_CREATION_STATUSES } from '@berth/contract/creation-states'
import { type Creation, listCreations } from '@berth/contract/creations'
import { Loader } from '@mantine/core'
import { IconCircleCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { useRunNow } from '../../making/creation-queries.ts'
import { filmPercent } from '../../making/film-percent.ts'
import { searchOf } from '../search.ts'
import classes from './FilmChip.module.css'

/** How often one that is under way is looked at from elsewhere; its own page looks more often. */
const LOOK_MS = 5_000
/** How long one is said to be ready. */
const READY_MS = 60_000

const openFilmsQuery = {
  ...queryOf(listCreations, { query: { kind: 'video', show: 'open', limit: 1 } }),
  meta: { silent: true, outlivesNavigation: true },
}

/** A video that is being made, and how far it is, on every page; nothing where none is. */
export function FilmChip() {
  // Whoever begins one, here or on another tab, finds it here when they come back to this one.
  const { data } = useQuery(openFilmsQuery)
  const open = data?.items[0]
  // Lists leave out what is ready: the one that was under way is followed until that is known.
  const [followed, setFollowed] = useState<Creation>()
  if (open && open.id !== followed?.id) setFollowed(open)
  const onOver = useCallback(() => setFollowed(undefined), [])
  const others = Math.max(0, (data?.counts?.open ?? 0) - 1)
  return followed ? (
    <Chip
      key={followed.id}
      listed={followed}
      isListed={open?.id === followed.id}
      others={others}
      onOver={onOver}
    />
  ) : null
}

interface ChipProps {
  /** As the list has it. */
  listed: Creation
  /** Whether it still has. */
  isListed: boolean
  others: number
  /** There is nothing more to say of it. */
  onOver: () => void
}

function Chip({ listed, isListed, others, onOver }: ChipProps) {
  const { t } = useTranslation('common')
  const [film] = useRunNow(listed, LOOK_MS).items
  const isReady = film?.status === 'saved'
  useEffect(() => {
    if (!isReady) return
    const timer = setTimeout(onOver, READY_MS)
    return () => clearTimeout(timer)
  }, [isReady, onOver])
  if (!film) return null
  if (isReady)
    return (
      <Link
        to="/video-model"
        search={searchOf({ video: listed.id })}
        className={classes.chip}
        onClick={onOver}
      >
        <IconCircleCheck size={16} stroke={1.8} className={classes.ready} aria-hidden="true" />
        <span className={classes.words} role="status">
          {t('film.ready')}
        </span>
      </Link>
    )
  // It was stopped, was not made, or is deleted.
  if (!isListed || !OPEN_CREATION_STATUSES.includes(film.status)) return null
  const percent = filmPercent(film)
  return (
    <Link to="/video-model" className={classes.chip}>
      <Loader size={13} className={classes.mark ?? ''} />
      <span className={classes.short} aria-hidden="true">
        {percent}%
      </span>
      <span className={classes.words}>
        {t('film.percent', { percent })}{' '}
        {others > 0 && <span className={classes.others}>{t('film.others', { count: others })}</span>}
      </span>
    </Link>
  )
}
