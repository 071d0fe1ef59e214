import type { Model } from '@berth/contract/models'
import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../../app/search.ts'
import { RowButton } from '../../lists/RowButton.tsx'
import { RowLink } from '../../lists/RowLink.tsx'
import { KindMark } from '../../models/KindMark.tsx'
import { useModelWords } from '../../models/use-model-words.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import classes from './model-columns.module.css'

/** The columns of the catalogue: what it is, what it takes, what it costs, and the way to try it. */
export function useModelColumns(): readonly Column<Model>[] {
  const { t } = useTranslation('models')
  const words = useModelWords()
  const navigate = useNavigate()
  return useMemo(
    () => [
      {
        key: 'model',
        narrow: 'name',
        header: t('columns.model'),
        cell: ({ id, name, kind, capabilities, demo }) => (
          <span className={classes.model}>
            <KindMark kind={kind} />
            <TwoLines
              strong
              mono
              first={
                <>
                  <RowLink to="/model-endpoints" search={{ model: id }} className={classes.name}>
                    {name}
                  </RowLink>
                  {demo && <span className={classes.tag}>{t('demo')}</span>}
                  {capabilities.map(one => (
                    <span key={one} className={classes.tag} data-can>
                      {words.can(one)}
                    </span>
                  ))}
                </>
              }
              second={id}
            />
          </span>
        ),
      },
      {
        key: 'kind',
        narrow: 'under',
        header: t('columns.kind'),
        width: '15rem',
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
        width: '14rem',
        cell: model => {
          const [first, second] = words.prices(model)
          return <TwoLines first={first} second={second} />
        },
      },
      {
        key: 'try',
        narrow: 'actions',
        header: '',
        said: t('columns.try'),
        align: 'end',
        width: '8rem',
        cell: ({ id, name }) => (
          <RowButton
            data-row-target
            aria-label={t('try_of', { name })}
            onClick={() => void navigate({ to: '/model-endpoints', search: searchOf({ model: id }) })}
          >
            {t('try')}
          </RowButton>
        ),
      },
    ],
    [t, words, navigate],
  )
}
