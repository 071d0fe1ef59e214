import { TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { isDay } from './period.ts'

interface DayFieldProps {
  label: string
  /** As `2026-11-20`; empty where none is chosen. */
  value: string
  error?: string | undefined
  onChange: (day: string) => void
}

/** A day. What is being typed and is none yet stays in the field, and narrows nothing. */
export function DayField({ label, value, error, onChange }: DayFieldProps) {
  const [typed, setTyped] = useState(value)
  const kept = useRef(value)
  useEffect(() => {
    // The address was changed from elsewhere.
    if (value === kept.current) return
    kept.current = value
    setTyped(value)
  }, [value])
  return (
    <TextInput
      type="date"
      label={label}
      value={typed}
      error={error}
      min="2000-01-01"
      max="2999-12-31"
      onChange={({ currentTarget: { value: text } }) => {
        setTyped(text)
        const day = /^2\d{3}-/.test(text) && isDay(text) ? text : ''
        kept.current = day
        onChange(day)
      }}
    />
  )
}
