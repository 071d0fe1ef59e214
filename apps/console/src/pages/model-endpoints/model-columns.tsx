import type { ModelFigures } from '@berth/contract/model-figures'
import type { Model } from '@berth/contract/models'
import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../../app/search.ts'
import { RowButton } from '../../lists/RowButton.tsx'
import { RowLink } from '../../lists/RowLink.tsx'
import { KindMark } from '../../models/KindMark.tsx'
import { abilitiesOf } from '../../models/model-abilities.ts'
import { useModelFigures } from '../../models/use-model-figures.ts'
import { useModelWords } from '../../models/use-model-words.ts'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import classes from './model-columns.module.css'

/** A share of answered calls below this is said to be low. */
const LOW_BELOW_PERMILLE = 990

function isLow({ answered_permille }: ModelFigures): boolean {
  return answered_permille !== null && answered_permille < LOW_BELOW_PERMILLE
}

/** Where a model is tried: those that answer in words on their own page, the others where their work is seen. */
const TRIED_ON = {
  chat: '/model-endpoints',
  multimodal: '/model-endpoints',
  image: '/image-model',
  video: '/video-model',
} as const

/** What is not known is said, and never drawn as nothing. */
function NotMeasured() {
  const { t } = useTranslation('models')
  return <span className={classes.unknown}>{t('not_measured')}</span>
}

/** The columns of the catalogue: what it is, what it takes, what it costs, how it answers, and the way to try it. */
export function useModelColumns(): readonly Column<Model>[] {
  const { t } = useTranslation('models')
  const words = useModelWords()
  const figures = useModelFigures()
  const format = useFormat()
  const navigate = useNavigate()
  return useMemo(
    () => [
      {
        key: 'model',
        narrow: 'name',
        header: t('columns.model'),
        cell: model => (
          <span className={classes.model}>
            <KindMark kind={model.kind} />
            <TwoLines
              strong
              mono
              first={
                <>
                  <RowLink to="/model-endpoints" search={{ model: model.id }} className={classes.name}>
                    {model.name}
                  </RowLink>
                  {model.demo && <span className={classes.tag}>{t('demo')}</span>}
                  {abilitiesOf(model).map(one => (
                    <span key={one} className={classes.tag} data-can>
                      {words.can(one)}
                    </span>
                  ))}
                </>
              }
              second={model.id}
            />
          </span>
        ),
      },
      {
        key: 'kind',
        narrow: 'under',
        header: t('columns.kind'),
        width: '13.5rem',
        cell: model => (
          <span className={classes.kind}>
            <span>{words.kind(model.kind)}</span> <span className={classes.limit}>{words.limit(model)}</span>
          </span>
        ),
      },
      {
        key: 'price',
        narrow: 'end',
        header: t('columns.price'),
        align: 'end',
        width: '13rem',
        cell: model => {
          const [first, second] = words.prices(model)
          return <TwoLines first={first} second={second} />
        },
      },
      {
        key: 'speed',
        narrow: null,
        header: t('columns.speed'),
        align: 'end',
        width: '14.5rem',
        cell: ({ id }) => {
          const { first, rate } = words.speed(figures.get(id))
          if (first === null && rate === null) return <NotMeasured />
          return <TwoLines first={first ?? <NotMeasured />} second={rate ?? <NotMeasured />} />
        },
      },
      {
        key: 'answered',
        narrow: null,
        wideOnly: true,
        header: t('columns.answered'),
        align: 'end',
        width: '13.2rem',
        cell: ({ id }) => {
          const known = figures.get(id)
          const share = words.answered(known)
          if (share === null || !known) return <NotMeasured />
          return (
            <TwoLines
              first={
                <span className={classes.share} data-low={isLow(known) || undefined}>
                  {share}
                </span>
              }
              second={t('answered.of', { count: known.calls, calls: format.number(known.calls) })}
            />
          )
        },
      },
      {
        key: 'try',
        narrow: 'actions',
        header: '',
        said: t('columns.try'),
        align: 'end',
        width: '7.5rem',
        // Vectors are tried by programs, which its page shows; its name leads there.
        cell: ({ id, name, kind }) =>
          kind !== 'embedding' && (
            <RowButton
              data-row-target
              aria-label={t('try_of', { name })}
              onClick={() => void navigate({ to: TRIED_ON[kind], search: searchOf({ model: id }) })}
            >
              {t('try')}
            </RowButton>
          ),
      },
    ],
    [t, words, figures, format, navigate],
  )
}
