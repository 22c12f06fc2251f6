-- Requests another target each time. Arguments: prefix, first number.
local number, prefix = 0, ""
function init(arguments)
    prefix, number = arguments[1], tonumber(arguments[2])
end
function request()
    number = number + 1
    return wrk.format(nil, prefix .. number)
end
