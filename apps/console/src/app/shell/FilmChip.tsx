import { listCreations } from '@berth/contract/creations'
import { Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { filmPercent } from '../../making/film-percent.ts'
import classes from './FilmChip.module.css'

/** How often one that is under way is looked at from elsewhere; its own page looks more often. */
const LOOK_MS = 5_000

const openFilmsQuery = {
  ...queryOf(listCreations, { query: { kind: 'video', show: 'open', limit: 1 } }),
  meta: { silent: true, outlivesNavigation: true },
}

/** A video that is being made, and how far it is, on every page; nothing where none is. */
export function FilmChip() {
  const { t } = useTranslation('common')
  const { data } = useQuery({
    ...openFilmsQuery,
    // Whoever begins one, here or on another tab, finds it here when they come back to this one.
    refetchInterval: ({ state }) => ((state.data?.items.length ?? 0) > 0 ? LOOK_MS : false),
  })
  const film = data?.items[0]?.items[0]
  if (!film) return null
  const others = (data.counts?.open ?? 1) - 1
  return (
    <Link to="/video-model" className={classes.chip}>
      <Loader size={13} className={classes.mark ?? ''} />
      <span className={classes.short} aria-hidden="true">
        {filmPercent(film)}%
      </span>
      <span className={classes.words}>
        {t('film.percent', { percent: filmPercent(film) })}
        {others > 0 && <span className={classes.others}>{t('film.others', { count: others })}</span>}
      </span>
    </Link>
  )
}
