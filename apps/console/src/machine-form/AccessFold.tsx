import { listSshKeys } from '@berth/contract/ssh-keys'
import { Checkbox } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { searchOf } from '../app/search.ts'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import fold from './Fold.module.css'
import { Fold } from './Fold.tsx'

interface AccessFoldProps {
  /** Ids of the keys that may sign in; null: all of the account. */
  value: string[] | null
  onChange: (ids: string[] | null) => void
  error?: ReactNode
}

/** Who gets in by SSH: whoever holds a key of the account, or one of those that are chosen. */
export function AccessFold({ value, onChange, error }: AccessFoldProps) {
  const { t, i18n } = useTranslation('deploy')
  const { data: keys } = useQuery(queryOf(listSshKeys, {}))
  // A key that was chosen and is gone lets nobody in, and cannot be asked for.
  const isGone = (id: string) => keys !== undefined && !keys.some(key => key.id === id)
  const left = value?.some(isGone) ? value.filter(id => !isGone(id)) : null
  useEffect(() => {
    if (left) onChange(left)
  }, [left, onChange])
  const chosen = (keys ?? []).filter(({ id }) => value?.includes(id) ?? true)
  const names = new Intl.ListFormat(i18n.language).format(chosen.map(({ name }) => name))
  const toggle = (id: string, isOn: boolean) =>
    onChange(isOn ? [...(value ?? []), id] : (value ?? []).filter(one => one !== id))
  return (
    <Fold title={t('access.title')} holds={keys ? holdsText() : ''} isAtFault={Boolean(error)}>
      <div className={fold.wide}>
        {keys && keys.length > 0 && (
          <SegmentedFilter
            label={t('access.which')}
            value={value === null ? 'all' : 'chosen'}
            onChange={which => onChange(which === 'all' ? null : keys.map(({ id }) => id))}
            options={[
              { value: 'all', label: t('access.all') },
              { value: 'chosen', label: t('access.chosen') },
            ]}
          />
        )}
        {value !== null && (
          <div className={fold.keys}>
            {keys?.map(({ id, name, fingerprint }) => (
              <Checkbox
                key={id}
                label={name}
                description={fingerprint}
                checked={value.includes(id)}
                onChange={event => toggle(id, event.currentTarget.checked)}
              />
            ))}
          </div>
        )}
        {error && (
          <p className={fold.fault} role="alert">
            {error}
          </p>
        )}
        <p className={fold.note}>
          {t(value === null ? 'access.note' : 'access.chosen_note')}{' '}
          <Link to="/settings" search={searchOf({ section: 'ssh-keys' })}>
            {t('access.settings')}
          </Link>
        </p>
      </div>
    </Fold>
  )

  function holdsText(): string {
    const count = chosen.length
    if (count === 0) return t('access.none')
    const of = keys?.length ?? 0
    return count === of ? t('access.keys', { count, names }) : t('access.some', { count, of, names })
  }
}
