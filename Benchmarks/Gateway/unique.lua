-- Every request for another target: prefix, then a number that begins at the first argument.
local number, prefix = 0, ""
function init(arguments)
    prefix, number = arguments[1], tonumber(arguments[2])
end
function request()
    number = number + 1
    return wrk.format(nil, prefix .. number)
end
