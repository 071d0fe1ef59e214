import { type Creation, listCreations } from '@berth/contract/creations'
import { Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { useRunNow } from '../../making/creation-queries.ts'
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
  // Whoever begins one, here or on another tab, finds it here when they come back to this one.
  const { data } = useQuery(openFilmsQuery)
  const film = data?.items[0]
  return film ? <Chip listed={film} others={(data.counts?.open ?? 1) - 1} /> : null
}

function Chip({ listed, others }: { listed: Creation; others: number }) {
  const { t } = useTranslation('common')
  const [film] = useRunNow(listed, LOOK_MS).items
  if (!film) return null
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
